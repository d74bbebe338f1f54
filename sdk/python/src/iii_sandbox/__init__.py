"""Client for iii-sandbox: isolated sandboxes for untrusted code.

Everything here is for asyncio; iii_sandbox.sync has the same names without it."""
from ._errors import ApiError, ConnectionFailed, RequestTimeout, SandboxError
from ._operation import CallOptions
from ._operations import OPERATIONS
from ._wire import ClientConfig
from .aio import *  # noqa: F403
from .aio import __all__ as _names



__version__ = "0.1.0"
__all__ = [*_names, "OPERATIONS", "ApiError", "CallOptions", "ClientConfig", "ConnectionFailed", "RequestTimeout", "SandboxError"]  # noqa: PLE0604
