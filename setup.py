"""Only what pyproject.toml cannot say: a wheel carries templates/ inside the package, as gate/_templates."""

from setuptools import find_packages, setup

setup(
    packages=[*find_packages(include=["gate", "gate.*"]), "gate._templates"],
    package_dir={"gate._templates": "templates"},
    package_data={"gate": ["py.typed"], "gate._templates": ["*", "**/*"]},
)
