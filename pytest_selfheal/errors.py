"""What can go wrong through a user's, a machine's or a provider's fault. Each error is one sentence that says what to do.

::

    SelfhealError            slug links to docs/errors.md#slug
    ├── UsageError           a wrong or contradictory option: pytest's exit 4
    ├── WorkspaceError       the copy cannot be made or would not be what the tests import
    ├── SandboxError         the sandbox that was asked for does not work here
    ├── GitError             git is missing or refuses
    ├── RecordError          the run's folder or a patch cannot be read or written
    └── ModelError           see propose/model/chat.py; carries a stop reason

Outcomes that are expected (a patch that does not verify, a model that has no idea) are return values, not errors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from pytest_selfheal.types import StopReason


class SelfhealError(Exception):
    """Base of all our errors; ``str()`` is the sentence for the user."""

    slug: ClassVar[str] = "error"


class UsageError(SelfhealError):
    slug = "usage"


class WorkspaceError(SelfhealError):
    slug = "workspace"


class SandboxError(SelfhealError):
    slug = "sandbox"


class GitError(SelfhealError):
    slug = "git"


class RecordError(SelfhealError):
    slug = "record"


class ModelError(SelfhealError):
    """A model call that failed for good."""

    slug = "model"
    reason: ClassVar[StopReason] = "infrastructure"
