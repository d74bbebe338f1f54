"""Client for iii-sandbox: isolated sandboxes for untrusted code.

Everything here is for asyncio; iii_sandbox.sync has the same classes and functions without it."""
from . import aio as _aio
from . import errors as _error_classes
from . import types as _types
from ._code import CodeError, Execution
from ._errors import ApiError, CodeFailed, CommandFailed, ConnectionFailed, RequestTimeout, SandboxError
from ._operation import CallOptions
from ._operations import OPERATIONS
from ._settings import ClientConfig
from .aio import *  # noqa: F403
from .errors import *  # noqa: F403
from .types import *  # noqa: F403

__version__ = "0.1.0"
__all__ = [
    "OPERATIONS",
    "ApiError",
    "CallOptions",
    "ClientConfig",
    "CodeError",
    "CodeFailed",
    "CommandFailed",
    "ConnectionFailed",
    "Execution",
    "RequestTimeout",
    "SandboxError",
]
__all__ += _aio.__all__
__all__ += _error_classes.__all__
__all__ += _types.__all__
