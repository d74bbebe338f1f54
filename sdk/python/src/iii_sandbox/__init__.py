"""Client for iii-sandbox: isolated sandboxes for untrusted code.

Everything here is for asyncio; iii_sandbox.sync has the same classes and functions without it."""
from . import aio as _aio
from . import errors as _error_classes
from . import types as _types
from ._errors import ApiError, CommandFailed, ConnectionFailed, RequestTimeout, SandboxError
from ._operation import CallOptions
from ._operations import OPERATIONS
from ._wire import ClientConfig
from .aio import *  # noqa: F403
from .errors import *  # noqa: F403
from .types import *  # noqa: F403

__version__ = "0.1.0"
__all__ = ["OPERATIONS", "ApiError", "CallOptions", "ClientConfig", "CommandFailed", "ConnectionFailed", "RequestTimeout", "SandboxError"]
__all__ += _aio.__all__
__all__ += _error_classes.__all__
__all__ += _types.__all__
