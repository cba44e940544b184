"""Retrieval Gate: stops a code change from quietly making search worse."""

__version__ = "0.1.0"

__all__ = ["Evaluation", "GateError", "Outcome", "Policy", "compare", "evaluate"]

# Editors and type checkers know this name as that of `typing`; the import itself would cost more than this whole package does.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from gate.api import Evaluation, Outcome, compare, evaluate
    from gate.errors import GateError
    from gate.policy import Policy
else:
    _HOMES = {"Evaluation": "api", "GateError": "errors", "Outcome": "api", "Policy": "policy", "compare": "api", "evaluate": "api"}

    def __getattr__(name: str) -> object:
        """The library's names, each imported when somebody asks for it: the action and the command line never do."""
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        value = globals()[name] = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *_HOMES})
