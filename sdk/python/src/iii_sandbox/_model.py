"""What all answers of the server have in common, and what some of them can do."""
from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict


class Model(BaseModel):
    """An answer: its members are attributes, by the names of the API (exitCode) and of Python (exit_code), and can be read like those of a dict.
    Members that this version does not know are kept."""

    model_config = ConfigDict(extra="allow", protected_namespaces=())

    def __getitem__(self, name: str) -> Any:
        try:
            return getattr(self, name)
        except AttributeError:
            raise KeyError(name) from None

    def get(self, name: str, default: Any = None) -> Any:
        return getattr(self, name, default)


class Ended(Model):
    """A command that has ended."""

    exitCode: int

    @property
    def ok(self) -> bool:
        return self.exitCode == 0
