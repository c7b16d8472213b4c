"""The parameters of a method: they check and describe themselves, and some sets of them have names."""

from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields, replace
from functools import partial
from inspect import cleandoc
from types import MappingProxyType
from typing import Any, ClassVar, Self

from smfh.types import InputError, Parameter, collect_problems, parameter, parameters, range_problems, unknown

BITS = "Length of the code. Up: finer distinctions, slower; down: shorter codes that more items share."
SEED = "The same seed gives the same codes."


@dataclass(frozen=True)
class Preset:
    """Named values of a method: those that differ from its defaults."""

    values: Mapping[str, Any] = field(default_factory=dict)
    dataset: str = ""  # the one that it belongs to; none: any


@dataclass(frozen=True)
class Configuration:
    """Its fields are all that decides the outcome of a training, the seed included."""

    name: ClassVar[str]
    title: ClassVar[str]
    presets: ClassVar[Mapping[str, Preset]] = MappingProxyType({})

    bits: int = parameter(64, "r", 1, 1024, BITS, typical=(8, 256))
    seed: int = parameter(0, "seed", 0, 2**32 - 1, SEED, typical=(0, 99), kw_only=True)

    def __init_subclass__(cls) -> None:
        """Close the presets, and add to the documentation what the parameters say of themselves."""
        super().__init_subclass__()
        cls.presets = MappingProxyType(dict(cls.presets))
        described = {f.name: f for f in fields(cls)}  # those of the classes above it
        described |= {name: f for name, f in vars(cls).items() if isinstance(f, Field)}
        lines = (
            _in_words(name, f.metadata["parameter"], f.default)
            for name, f in described.items()
            if "parameter" in f.metadata
        )
        cls.__doc__ = "\n\n".join([cleandoc(cls.__doc__ or cls.__name__), "Parameters:", *lines])

    def __post_init__(self) -> None:
        if problems := range_problems(self):
            raise InputError(problems)

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        """The method with these parameters and defaults for the rest; one error lists all that is wrong.

        A list is taken as a tuple: JSON has no other.
        """
        known = parameters(cls)
        values = {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}
        method: Self
        *_, method = collect_problems(
            *(partial(cls._refuse, name) for name in values if name not in known),
            lambda: cls(**{name: value for name, value in values.items() if name in known}),
        )
        return method

    @classmethod
    def _refuse(cls, name: str) -> None:
        raise InputError(f"{cls.name} has no parameter {name}; there are {', '.join(parameters(cls))}.")

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """All parameters by name, as scikit-learn asks for them."""
        return {name: getattr(self, name) for name in parameters(self)}

    def set_params(self, **params: Any) -> Self:
        """A copy with these parameters changed; the method itself stays as it is."""
        return type(self).of({**self.get_params(), **params})

    @classmethod
    def preset_names(cls, dataset: str) -> list[str]:
        """The presets that belong to this data set or to none in particular."""
        return [name for name, preset in cls.presets.items() if preset.dataset in ("", dataset)]

    @classmethod
    def preset_values(cls, name: str) -> dict[str, Any]:
        """Every parameter of a preset except bits and seed, which it leaves alone."""
        if name not in cls.presets:
            raise unknown(f"preset of {cls.name}", name, cls.presets)
        defaults = {f.name: f.default for f in fields(cls) if f.name not in ("bits", "seed")}
        return defaults | dict(cls.presets[name].values)

    def current_preset(self, dataset: str) -> str | None:
        """The preset for this data set whose values these are, all of them; None where there is none."""
        for name in self.preset_names(dataset):
            if replace(self, **self.preset_values(name)) == self:
                return name
        return None


def _in_words(name: str, about: Parameter, default: object) -> str:
    return f"    {name} ({about.symbol}): {about.wanted}, by default {default!r}.\n        {about.help}"
