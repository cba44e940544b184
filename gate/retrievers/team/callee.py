"""What a configuration names → something that takes (query, n), or texts to embed. Loaded by worker.py in the retriever's process: standard
library only."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncio

# Methods that take a query alone, with the names that others have given them. Those of an object, in the order in which they are tried.
METHODS = ("invoke", "retrieve", "ainvoke", "aretrieve")
_COUNTS = ("n", "k", "top_k", "limit", "depth")


class Loop:
    """One event loop for all questions, so that clients which belong to a loop stay usable."""

    def __init__(self) -> None:
        self._runner: asyncio.Runner | None = None
        self._apart: asyncio.AbstractEventLoop | None = None

    def wait(self, awaitable: Awaitable[Any]) -> Any:
        import asyncio

        async def whole() -> Any:
            return await awaitable

        if not _in_loop():
            self._runner = self._runner or asyncio.Runner()
            return self._runner.run(whole())
        # A notebook has a loop of its own in this thread, which cannot be run within itself.
        if self._apart is None:
            import threading

            self._apart = asyncio.new_event_loop()
            threading.Thread(target=self._apart.run_forever, daemon=True).start()
        return asyncio.run_coroutine_threadsafe(whole(), self._apart).result()

    def close(self) -> None:
        if self._runner is not None:
            self._runner.close()
        if self._apart is not None:
            self._apart.call_soon_threadsafe(self._apart.stop)


def _in_loop() -> bool:
    import asyncio

    try:
        return asyncio.get_running_loop() is not None
    except RuntimeError:
        return False


class Refused(Exception):
    """What was named cannot be asked; the message goes on after its name."""


class Callee:
    """Takes (query, n) and gives what the team's code gives, awaited where that is needed.

    ``counted``: whether n is passed on. ``found``: a function, or an object that can be called or has one of METHODS.
    """

    def __init__(self, found: Any, loop: Loop) -> None:
        self._loop = loop
        self._function, self.counted = _ways(found)

    def __call__(self, query: str, n: int) -> Any:
        result = self._function(query, n) if self.counted else self._function(query)
        return self._loop.wait(result) if inspect.isawaitable(result) else result


class Embedding:
    """Takes texts and gives what the team's function gives, awaited where that is needed."""

    counted = False

    def __init__(self, found: Any, loop: Loop) -> None:
        self._function, self._loop = found, loop
        if inspect.isclass(found) or not callable(found):
            raise Refused(f"is {repr(found)[:100]} ({type(found).__name__}), which cannot be called with a list of texts")
        try:
            inspect.signature(found).bind(["a text"])
        except TypeError as error:
            raise Refused(f"must accept one argument, a list of texts ({error})") from None
        except ValueError:
            pass  # written in C: the first call will tell

    def __call__(self, texts: list[str]) -> Any:
        result = self._function(texts)
        return self._loop.wait(result) if inspect.isawaitable(result) else result


def askable(found: Any) -> bool:
    """Whether it can be called or has one of METHODS."""
    return callable(found) or any(callable(getattr(found, name, None)) for name in METHODS)


def made(found: Any, loop: Loop) -> Any:
    """What a factory returns."""
    if not callable(found):
        raise Refused("cannot be called, and `factory` is true")
    try:
        inspect.signature(found).bind()
    except TypeError as error:
        raise Refused(f"must be callable without arguments, because `factory` is true ({error})") from None
    except ValueError:
        pass
    result = found()
    return loop.wait(result) if inspect.isawaitable(result) else result


def _ways(found: Any) -> tuple[Callable[..., Any], bool]:
    """What to call, and whether with n."""
    if inspect.isclass(found):
        raise Refused("is a class, which is no retriever yet: give an instance, or in a configuration `factory: true`, which calls it "
                      "once without arguments")
    method = next((name for name in METHODS if callable(getattr(found, name, None))), "") if not inspect.isroutine(found) else ""
    if callable(found) and not (method and _binds(found) is not True):
        _returns_at_once(found)
        if inspect.ismethod(found) and found.__name__ in METHODS:
            return found, _takes_count(found)
        if (fault := _binds(found)) not in (True, None):
            raise Refused(f"must accept two arguments, query and number of results ({fault})")
        return found, True
    if not method:
        text = repr(found)
        raise Refused(f"is {text[:100]} ({type(found).__name__}), which cannot be called and has no `invoke` or `retrieve`")
    function = getattr(found, method)
    _returns_at_once(function)
    return function, _takes_count(function)


def _returns_at_once(found: Any) -> None:
    for function in (found, getattr(found, "__call__", None)):  # noqa: B004 - of an object with one, it is what runs
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise Refused("is a generator, which returns no list; give a function that returns list(…) of what it yields")


def _binds(function: Callable[..., Any]) -> Any:
    """True, None when nobody knows (written in C: the first call will tell), or why not."""
    try:
        inspect.signature(function).bind("a query", 1)
    except TypeError as error:
        return error
    except ValueError:
        return None
    return True


def _takes_count(function: Callable[..., Any]) -> bool:
    """Whether a method that may take a query alone wants the number as well: the second argument of LangChain's is no number."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return False
    if len(parameters) < 2 or parameters[1].kind not in (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD):
        return False
    name, default = parameters[1].name, parameters[1].default
    return name in _COUNTS or default is inspect.Parameter.empty or (isinstance(default, int) and not isinstance(default, bool))
