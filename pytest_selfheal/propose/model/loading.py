"""litellm, loaded late and kept quiet: no network, no ``.env``, no advertisements, no telemetry.

It takes seconds to import, fetches a price map, reads ``.env`` files and prints advertisements unless told not to.
"""

from __future__ import annotations

import contextlib
import importlib
import logging
import os
import sys
import threading
import warnings
from typing import Any

from pytest_selfheal.propose.model.errors import LibraryMissing
from pytest_selfheal.redact import find_secrets

_NOISY = r"(litellm|openai|httpx|httpcore|pydantic|anyio|aiohttp|tiktoken|tokenizers|huggingface_hub|boto3|botocore|google)\b"

_import_lock = threading.Lock()


def library() -> Any:
    """litellm, imported on first use.

    Raises :class:`LibraryMissing`.
    """
    _silence()
    with _import_lock:
        wanted = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_MODE": "PRODUCTION"}
        before = {name: os.environ.get(name) for name in wanted}
        os.environ.update(wanted)
        try:
            litellm: Any = importlib.import_module("litellm")
        except Exception as error:
            raise LibraryMissing(f"litellm cannot be imported ({error}); {LibraryMissing.advice}.") from error
        finally:
            for name, value in before.items():
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value
        litellm.suppress_debug_info = True
        litellm.telemetry = False
        litellm.drop_params = True
        # Counting tokens would otherwise ask a hub for tokenizers, with half a minute of retries offline.
        litellm.disable_hf_tokenizer_download = True
        for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
        return litellm


def _silence() -> None:
    """The library's own warnings are nobody's business here, and errors where the user's tests make them so.

    pytest sets the filters back after each hook; so this is repeated before each use, which adds nothing twice.
    """
    warnings.filterwarnings("ignore", module=_NOISY)


def warm_up() -> threading.Thread:
    """Import litellm in a thread, and what the first prompt needs (a tokenizer, the secrets' patterns, libcst): these
    seconds pass while the failures are run again."""

    def load() -> None:
        with contextlib.suppress(Exception):  # said when it is needed
            litellm = library()
            litellm.token_counter(model="", text="warm")
            # An answer that is given here: nothing is sent, but what a call imports is there.
            litellm.completion(
                model="openai/none", messages=[{"role": "user", "content": "warm"}], mock_response="warm"
            )
            find_secrets("SECRET = 'what loads the patterns'")
            importlib.import_module("libcst.metadata")

    thread = threading.Thread(target=load, name="selfheal-import", daemon=True)
    thread.start()
    return thread


def close() -> None:
    """Close the connections that the library keeps open, at a run's end; does nothing when it was never loaded."""
    litellm = sys.modules.get("litellm")
    with contextlib.suppress(Exception):
        kept = litellm.in_memory_llm_clients_cache  # type: ignore[union-attr]
        for client in list(kept.cache_dict.values()):
            with contextlib.suppress(Exception):
                left = client.close()
                if hasattr(left, "send"):
                    left.close()  # the coroutine of an asynchronous client that was never used
        kept.flush_cache()
