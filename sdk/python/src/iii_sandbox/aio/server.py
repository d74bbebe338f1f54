"""What can be asked of the whole server, by subject."""
from .methods import (
    AdminClient,
    EventManager,
    ImageManager,
    NetworkManager,
    ObservabilityClient,
    ServerManager,
    SnapshotManager,
    TemplateManager,
    TokenManager,
    VolumeManager,
    WebhookManager,
)

__all__ = [
    "AdminClient",
    "EventManager",
    "ImageManager",
    "NetworkManager",
    "ObservabilityClient",
    "ServerManager",
    "SnapshotManager",
    "TemplateManager",
    "TokenManager",
    "VolumeManager",
    "WebhookManager",
]
