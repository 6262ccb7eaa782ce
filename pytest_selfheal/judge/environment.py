"""The environment of a child process: what tests need, without anything that looks like a credential."""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Mapping
from typing import Final

from pytest_selfheal.settings import Settings

_SECRET_NAME: Final = re.compile(
    r"""
    (?:^|_)(?:
        TOKENS? | SECRETS? | PASSWD | PASSWORDS? | PASSPHRASE | PASS | PWD | CREDENTIALS? | CREDS?
      | API_?KEYS? | ACCESS_?KEYS?(?:_ID)? | SECRET_?KEYS? | PRIVATE_?KEYS? | SIGNING_?KEYS? | ENCRYPTION_?KEYS?
      | DEPLOY_?KEYS? | MASTER_?KEYS? | LICENSE_?KEYS? | ACCOUNT_?KEYS? | STORAGE_?KEYS? | SUBSCRIPTION_?KEYS?
      | AUTH | AUTHORIZATION | BEARER | COOKIES? | JWT | OAUTH | PAT | DSN | NETRC | KUBECONFIG
      | WEBHOOK(?:_URL)? | CONNECTION_?STRING
    )(?:_|\d*$)
    | (?:TOKEN|SECRET|PASSWORD|PASSWD|APIKEY|ACCESSKEY|SECRETKEY|PRIVATEKEY|CREDENTIALS?)$
    """,
    re.VERBOSE,
)
_FOREIGN_NAME: Final = re.compile(
    r"""
    ^(?:
        # Clouds, CI services, publishing, agents. Not each of these is secret, but no unit test needs them.
        AWS_ | AZURE_ | ARM_ | GOOGLE_ | GCLOUD_ | GCP_ | CLOUDSDK_AUTH | CLOUDFLARE_ | DIGITALOCEAN_
      | HEROKU_ | GITHUB_ | GH_ | GITLAB_ | CI_JOB_ | CI_REGISTRY_ | CI_DEPLOY_ | CI_REPOSITORY_
      | ACTIONS_ | RUNNER_ | BITBUCKET_ | CIRCLE_ | TRAVIS_ | BUILDKITE_ | JENKINS_ | SYSTEM_ACCESS
      | VAULT_ | DOCKER_AUTH | TWINE_ | PYPI_ | UV_PUBLISH | UV_INDEX_ | POETRY_PYPI | POETRY_HTTP
      | PIP_INDEX_URL | PIP_EXTRA_INDEX
        # Providers of models, and services around them.
      | OPENAI_ | ANTHROPIC_ | AZURE_OPENAI | COHERE_ | MISTRAL_ | GROQ_ | GEMINI_ | HUGGINGFACE_
      | HF_TOKEN | REPLICATE_ | TOGETHER | DEEPSEEK_ | OPENROUTER_ | PERPLEXITY | FIREWORKS_ | XAI_
      | LITELLM_ | BEDROCK_ | LANGSMITH_ | LANGCHAIN_ | LANGFUSE_ | WANDB_ | SENTRY_ | DATADOG_ | DD_API
      | SLACK_ | STRIPE_ | NPM_ | SSH_AUTH_SOCK | SSH_AGENT | GPG_AGENT | GIT_ASKPASS | SSH_ASKPASS
      | GIT_CONFIG | DBUS_SESSION
    )
    """,
    re.VERBOSE,
)
_HARMLESS: Final = re.compile(
    r"^(?:PWD|OLDPWD|AWS_CA_BUNDLE|AWS_(?:DEFAULT_)?REGION|LITELLM_LOCAL_MODEL_COST_MAP|GITHUB_ACTIONS|GITLAB_CI|SENTRY_ENVIRONMENT)$"
)
"""Names that the patterns catch although they carry no secret."""
_SECRET_VALUE: Final = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY|^[a-z][a-z0-9+.-]*://[^/\s:@]*:[^/\s@]+@|^(?:sk-|gh[opsu]_|github_pat_|glpat-|xox[abps]-|hf_|AKIA|ASIA|AIza|npm_|pypi-)"
    r"|^eyJ[\w-]{8,}\.[\w-]{8,}\."
)
"""Values that are credentials whatever their name."""
_KEY_NAME: Final = re.compile(r"(?:^|_)KEY\d*$")
_RANDOM_VALUE: Final = re.compile(r"(?=.*\d)(?=.*[A-Za-z])[A-Za-z0-9+/=_.-]{12,}")
"""What a variable called ``…_KEY`` holds when it is no key of a table or a keyboard."""
_OURS_AND_RUNNERS: Final = re.compile(
    r"^(?:PYTEST_ADDOPTS|PYTEST_XDIST_.*|PYTEST_CURRENT_TEST|PYTEST_VERSION|PYTEST_DEBUG"
    r"|COVERAGE_PROCESS_.*|COVERAGE_FILE|COV_CORE_.*|SELFHEAL_.*)$"
)


def is_credential(name: str, value: str) -> bool:
    """Whether an environment variable looks like a credential, by its name or its value."""
    upper = name.upper()
    if _SECRET_VALUE.search(value):
        return True
    if _HARMLESS.match(upper):
        return False
    return bool(_SECRET_NAME.search(upper) or _FOREIGN_NAME.search(upper)) or _is_key(upper, value)


def _is_key(upper: str, value: str) -> bool:
    return bool(_KEY_NAME.search(upper) and _RANDOM_VALUE.fullmatch(value))


def child_environment(settings: Settings, base: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment for tests: ``base`` (this process's own by default) without credentials and outer runners' traces.

    Names that match ``selfheal_pass_env`` stay whatever they look like. Bytecode is never written: a stale ``.pyc``
    would run the code before the patch (but see :mod:`pytest_selfheal.judge.bytecode`).
    """
    base = os.environ if base is None else base
    kept = {
        name: value
        for name, value in base.items()
        if not _OURS_AND_RUNNERS.match(name) and (_passed(settings, name) or not is_credential(name, value))
    }
    kept["PYTHONDONTWRITEBYTECODE"] = "1"
    return kept


def stripped_values(settings: Settings, base: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """Values of the environment that are credentials, for the redactor.

    Also those that ``selfheal_pass_env`` hands to tests, since they can come back in the tests' output; not those that
    were removed only because they belong to a cloud or a CI service (names of repositories, folders of runners).
    """
    base = os.environ if base is None else base
    return tuple(
        dict.fromkeys(
            value
            for name, value in base.items()
            if (_SECRET_VALUE.search(value) or _SECRET_NAME.search(name.upper()) or _is_key(name.upper(), value))
            and not value.startswith("/")
        )
    )


def _passed(settings: Settings, name: str) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in settings.pass_env)
