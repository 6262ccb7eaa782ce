"""The ``model`` proposer: any LLM that litellm can reach; bounded, and honest about what it costs.

A round walks through ``proposer`` → ``context`` and ``prompt`` (what is asked) → ``budget`` (may it be asked) → ``chat``
(the only door to litellm, which ``loading`` loads) → ``reply`` (what was said) → ``resolve`` (which bytes that means). ``critic`` judges intent
after a patch has verified; ``notice`` tells people beforehand what will be sent where and what it may cost.

Importing this package is cheap; litellm loads with the first question that needs it.
"""

from __future__ import annotations

from pytest_selfheal.propose.model.budget import Budget
from pytest_selfheal.propose.model.critic import Critic, Opinion
from pytest_selfheal.propose.model.loading import close, warm_up
from pytest_selfheal.propose.model.notice import Announcement, check_model, host_notice, worst_case
from pytest_selfheal.propose.model.params import validate
from pytest_selfheal.propose.model.proposer import ModelProposer

__all__ = [
    "Announcement",
    "Budget",
    "Critic",
    "ModelProposer",
    "Opinion",
    "check_model",
    "close",
    "host_notice",
    "validate",
    "warm_up",
    "worst_case",
]
