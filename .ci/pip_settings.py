"""Print this machine's pip settings as a pip.conf for an image: addresses and switches, but no path of this machine.

Reads what pip itself reads, in its order, and needs no pip: a new machine may not have one yet.
"""

import configparser
import os
from pathlib import Path

HOME = Path.home()
FILES = [
    *(Path(folder) / "pip/pip.conf" for folder in reversed(os.environ.get("XDG_CONFIG_DIRS", "/etc/xdg").split(":"))),
    Path("/etc/pip.conf"),
    HOME / ".pip/pip.conf",
    Path(os.environ.get("XDG_CONFIG_HOME", HOME / ".config")) / "pip/pip.conf",
    Path(os.environ.get("PIP_CONFIG_FILE", os.devnull)),
]
KEPT = (
    *("index-url", "extra-index-url", "find-links", "no-index", "trusted-host"),
    *("proxy", "timeout", "default-timeout", "retries"),
)


def settings():
    found = {}
    for file in FILES:
        parser = configparser.RawConfigParser(strict=False)
        try:
            parser.read(file, encoding="utf-8")
        except (configparser.Error, OSError, UnicodeDecodeError):
            continue
        for section in ("global", "install"):
            if parser.has_section(section):
                found.update({name.replace("_", "-"): value for name, value in parser.items(section)})
    for name, value in os.environ.items():
        if name.startswith("PIP_"):
            found[name[4:].lower().replace("_", "-")] = value
    proxy = os.environ.get("HTTPS_PROXY") or os.environ.get("https_proxy")
    if proxy:
        found.setdefault("proxy", proxy)
    return found


def main():
    print("[global]")
    for name, value in sorted(settings().items()):
        words = [word for word in value.split() if not word.startswith(("/", "file:", ".", "~"))]
        if name in KEPT and words:
            print(name, "=", " ".join(words))
    print("disable-pip-version-check = 1")


if __name__ == "__main__":
    main()
