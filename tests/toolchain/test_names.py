"""Function names as people write them, and the symbols they mean. Symbols and names are pairs of llvm-cxxfilt."""

from __future__ import annotations

import shutil

import pytest

from kbserver.core.errors import UnknownName, UsageError
from kbserver.toolchain import names
from kbserver.toolchain.itanium import name_parts
from kbserver.toolchain.names import find_symbol, plain_name, symbol_in

SCALE_FLOAT, SCALE_INT = "_ZN2ns5scaleIfLi4EEEvPT_", "_ZN2ns5scaleIiLin2EEEvPT_"
SYMBOLS = (SCALE_FLOAT, SCALE_INT, "_Z3bfiPj", "_Z3bfiPf", "_Z4onlyPf", "_Z3oneIDF16_EvPT_", "c_name",
           "_ZN12_GLOBAL__N_16hiddenEPf")  # fmt: skip
needs_demangler = pytest.mark.skipif(
    not (shutil.which("llvm-cxxfilt") or shutil.which("c++filt")), reason="no demangler on this machine"
)


@pytest.mark.parametrize(
    ("symbol", "parts"),
    [
        ("_Z3bfiPj", ("bfi",)),  # bfi(unsigned int*)
        (SCALE_INT, ("ns", "scale")),  # void ns::scale<int, -2>(int*)
        ("_ZN12_GLOBAL__N_16hiddenEPf", ("(anonymous namespace)", "hidden")),
        ("_ZL6kernelPf", ("kernel",)),  # static
        ("_ZN2ns5applyINS_2OpEEEvPfT_", ("ns", "apply")),  # void ns::apply<ns::Op>(float*, ns::Op)
        ("_Z5applyIZ4mainEUlfE_EvPfT_", ("apply",)),  # void apply<main::'lambda'(float)>(...)
        ("_ZN3FooIfE3barEv", ("Foo", "bar")),  # Foo<float>::bar()
        ("_Z1fU3AS3Pf", ("f",)),  # f(float* AS3)
        ("_Z1kDv4_fS_", ("k",)),  # k(float vector[4], float vector[4])
        ("_Z1gIJfiEEvDpT_", ("g",)),  # void g<float, int>(float, int)
        ("_ZN6KokkosL3fooEPFviE", ("Kokkos", "foo")),  # Kokkos::foo(void (*)(int))
        ("_ZSt4moveIRiEONSt16remove_referenceIT_E4typeEOS2_", ("std", "move")),
        ("_Z3fooB5cxx11v", ("foo",)),  # foo[abi:cxx11]()
        (
            "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIiEESt5arrayIPcLm1EEEEviT0_T1_",
            ("at", "native", "vectorized_elementwise_kernel"),
        ),
        ("_Z7enabledITnNSt9enable_ifIXgtT_Li3EEiE4typeELi0EEvv", ("enabled",)),  # arguments that are not read
    ],
)
def test_the_name_is_read_out_of_a_symbol(symbol: str, parts: tuple[str, ...]) -> None:
    assert name_parts(symbol) == parts
    assert plain_name(symbol) == parts[-1]


@pytest.mark.parametrize(
    "symbol",
    [
        "", "c_name", "_Z", "_Z999x", "_Z3b", "_ZplRK1AS1_", "_ZN1AC1Ev", "_ZN", "_ZNS", "_ZN3F",
        "_Z" + "N" * 3000, "_Z" + "Z" * 3000, "_ZN1fI" + "J" * 3000, "_ZN1fI" + "P" * 3000,
    ],
)  # fmt: skip
def test_what_is_no_name_of_a_function_or_is_cut_gives_none(symbol: str) -> None:
    assert name_parts(symbol) is None
    assert plain_name(symbol) == symbol


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("void ns::scale<float, 4>(float*)", "scale"), ("ns::scale<a::B>", "scale"), ("bfi(float*)", "bfi"),
        ("(anonymous namespace)::hidden(float*)", "hidden"), ("Cijk_Ailk_MT256x256", "Cijk_Ailk_MT256x256"),
    ],
)  # fmt: skip
def test_the_own_name_is_read_out_of_a_cpp_name_too(name: str, plain: str) -> None:
    assert plain_name(name) == plain


@pytest.mark.parametrize(
    ("wanted", "symbol"),
    [
        ("_Z3bfiPj", "_Z3bfiPj"),
        ("_Z3bfiPj.kd", "_Z3bfiPj"),
        ("c_name", "c_name"),
        ("only", "_Z4onlyPf"),
        ("::only", "_Z4onlyPf"),
        ("one", "_Z3oneIDF16_EvPT_"),  # the only instance
        ("hidden", "_ZN12_GLOBAL__N_16hiddenEPf"),
        ("(anonymous namespace)::hidden", "_ZN12_GLOBAL__N_16hiddenEPf"),
    ],
)
def test_a_plain_name_means_the_only_function_that_has_it(
    wanted: str, symbol: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(names, "demangler", lambda: None)  # it needs none
    assert find_symbol(wanted, SYMBOLS) == symbol


@needs_demangler
@pytest.mark.parametrize(
    ("wanted", "symbol"),
    [
        ("bfi(float*)", "_Z3bfiPf"),
        ("bfi(unsigned int*)", "_Z3bfiPj"),
        ("scale<float, 4>", SCALE_FLOAT),
        ("scale<int,-2>", SCALE_INT),
        ("ns::scale<float, 4>", SCALE_FLOAT),
        ("void ns::scale<float, 4>(float*)", SCALE_FLOAT),
    ],
)
def test_arguments_tell_instances_and_overloads_apart(wanted: str, symbol: str) -> None:
    assert find_symbol(wanted, SYMBOLS) == symbol


@pytest.mark.parametrize(
    ("wanted", "fitting"),
    [("bfi", ["_Z3bfiPj", "_Z3bfiPf"]), ("scale", [SCALE_FLOAT, SCALE_INT]), ("ns::scale", [SCALE_FLOAT, SCALE_INT])],
)
def test_a_name_of_several_functions_is_refused_with_all_of_them(wanted: str, fitting: list[str]) -> None:
    with pytest.raises(UsageError, match=f"2 functions are called '{wanted}'") as caught:
        find_symbol(wanted, SYMBOLS, where="kernel")
    assert caught.value.details["near"] == fitting
    assert all(symbol in (caught.value.hint or "") for symbol in fitting)


@pytest.mark.parametrize("wanted", ["", "onl", "x::only", "nothing", "scale<double, 1>", "only" * 2000])
def test_a_name_that_nothing_has_is_refused(wanted: str) -> None:
    with pytest.raises(UsageError):
        find_symbol(wanted, SYMBOLS)


def test_near_names_are_those_that_people_write() -> None:
    with pytest.raises(UnknownName) as caught:
        find_symbol("hiden", SYMBOLS)
    assert "hidden" in (caught.value.hint or "")


def test_without_a_demangler_arguments_are_refused_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(names, "demangler", lambda: None)
    names.demangle.cache_clear()
    with pytest.raises(UsageError, match="neither is installed"):
        find_symbol("scale<float, 4>", SYMBOLS)
    names.demangle.cache_clear()


PTX = ".visible .entry _Z5scalePf(\n\t.param .u64 p\n)\n{\n\tret;\n}\n.visible .entry twice(\n)\n{\n\tret;\n}\n"


@pytest.mark.parametrize(
    ("entry", "symbol"), [("scale", "_Z5scalePf"), ("_Z5scalePf", "_Z5scalePf"), ("twice", "twice"), ("none", "none")]
)
def test_an_entry_is_found_in_ptx_too(entry: str, symbol: str) -> None:
    assert symbol_in(PTX, entry) == symbol
