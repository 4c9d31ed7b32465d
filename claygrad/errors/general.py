"""Ways out that follow from the grammar of a text: asked last, for the many errors that nobody wrote a hint for.

PyTorch's texts say what an argument must be, in few forms: so many dimensions, a range, one of some words, a dtype,
equal sizes, one of two arguments. Each form has its way out; the argument that is named is shown with its value.
"""

from __future__ import annotations

import re
from typing import Any

from claygrad.core import Tensor
from claygrad.core.dispatch.wrong_arguments import type_name
from claygrad.errors._calls import shape_of, shape_text, signature_of
from claygrad.errors._source import MISSING
from claygrad.errors._ways import Context, hint

_NUMBERS = {"one": 1, "two": 2, "three": 3, "four": 4, "zero": 0}


def _arguments(context: Context) -> dict[str, Any]:
    """What the call was given, by the names of its parameters."""
    call = context.call
    return {
        name: call.value(name) for name in call.params if name not in ("self", "xp") and call.value(name) is not MISSING
    }


def _named(context: Context) -> str:
    """`chunks=0`: the arguments that the text names, with what came."""
    found = []
    for name, value in _arguments(context).items():
        if re.search(rf"(?<![\w.]){re.escape(name)}(?!\w)", context.head):
            found.append(
                f"{name} {shape_text(shape_of(value))} {value.dtype}"
                if isinstance(value, Tensor)
                else f"{name}={_brief(value)}"
            )
    numbers = re.findall(r"(?<![\w.])-?\d+(?:\.\d+)?(?![\w.])", context.head)
    if not found:
        for name, value in _arguments(context).items():
            if type(value) in (int, float) and f"{value:g}" in numbers:
                found.append(f"{name}={value!r}")
    module = context.module
    if not found and module is not None:
        for name, value in vars(module).items():
            if re.search(rf"(?<![\w.]){re.escape(name)}(?!\w)", context.head) and isinstance(
                value, (int, float, str, tuple)
            ):
                found.append(f"{name}={value!r:.60}")
    return ", ".join(found[:3])


def _brief(value: Any) -> str:
    """A value as a line has room for it."""
    text = repr(value)
    return text[:60] if "\n" not in text and "tensor(" not in text else type_name(value)


def _shapes(context: Context) -> str:
    named = context.operands()
    return ", ".join(f"{name} {shape_text(shape_of(x))}" for name, x in named[:4])


def _see(context: Context) -> str:
    """How it is called."""
    called: Any = context.call.called if context.call.kind in ("operation", "function") else None
    if called is None or not context.call.name or context.call.name.rpartition(".")[2].startswith("__"):
        called = None if context.module is None else type(context.module)
    shown = "" if called is None else signature_of(called)
    return f"; it is {shown}" if shown and "*args" not in shown else ""


_CLAUSE = re.compile(
    r"(?:must|should|has to|have to|needs? to|(?:[Ee]xpects?|[Ee]xpected)\b.*? to)"
    r"( (?:be|have|contain|match|lie|equal|return|not be) .+?)"
    r"(?=,? but\b|,? got\b|\. |\.$|, found|;|, instead|$)"
    r"|expects (.+?)(?=,? but\b|,? got\b|\. |\.$|;|$)"
)


def _told(context: Context, text: str) -> str:
    """The way out, with what the text demands, what came, and how it is called."""
    named = _named(context)
    found = _CLAUSE.search(context.head.partition("\n")[0])
    clause = "" if found is None else (found[1] or f" be {found[2]}").strip()
    if clause and len(clause) < 90 and named.count(",") == 0:
        if not named:
            return f"{_demand(context) or f'what is given must {clause}'}{_see(context)}"
        word, _, value = named.partition("=")
        word = word.partition(" ")[0]
        came = f"and {value} came" if value else f"and {named.partition(' ')[2]} came"
        return f"{word} must {clause}, {came}: {text}{_see(context)}"
    return f"{text}{f': here {named}' if named else ''}{_see(context)}"


_DEMAND = re.compile(
    r"(?:^|[:,.;] )(?:[Ee]xpect(?:s|ed) (?P<a>[\w .,'`()\[\]-]{2,60}?) to (?P<b>be|have|match|contain|lie|equal)|"
    r"(?P<c>[\w .'`()\[\]-]{2,60}?) (?:must|should|has to|have to|needs? to) (?P<d>be|have|match|contain|lie|equal)) "
    r"(?P<e>.{2,90}?)(?=,? but\b|,? got\b|,? found\b|\. |\.$|, instead|;|, for |$)"
)


def _demand(context: Context) -> str:
    """`grid and input must have same batch size`: what the text wants, in its own words."""
    found = _DEMAND.search(context.head.partition("\n")[0])
    if found is None:
        return ""
    who, verb = found["a"] or found["c"], found["b"] or found["d"]
    return f"{who.strip(' `')} must {verb} {found['e'].strip()}"


def _count(word: str) -> int | None:
    return int(word) if word.isdigit() else _NUMBERS.get(word.lower())


_ADVICE = re.compile(
    r"(?:^|[.;:!?)] |, |\n)((?:[Pp]lease )?(?:[Uu]se|[Tt]ry|[Cc]onsider|[Cc]all|[Ss]et|[Pp]ass|[Ss]pecify|[Mm]ake sure|"
    r"[Pp]rovide|[Cc]hoose|[Ii]ncrease|[Rr]educe|[Ee]nable|[Dd]isable|[Mm]ove|[Cc]onvert|[Dd]efine|[Ii]mplement) "
    r"[^\n]+?|[Mm]aybe you wanted to [^\n]+?|[Dd]id you mean [^\n]+?|[Yy]ou (?:can|may|should|need to|must) "
    r"[^\n]+?|[^\n.;:]* can be used instead)(?=[.;](?: |$)|\n|$)"
)


@hint(r"(?i)\b(?:use|try|consider|please|call|set|pass|specify|make sure|provide|choose|maybe|did you|you |instead)")
def advice(_: re.Match[str], context: Context) -> str | None:
    """What PyTorch's text itself says is to be done: repeated where the ways out stand, with what came."""
    found = _ADVICE.search(context.head)
    if found is None or len(found[1]) > 160 or context.kind.__module__ != "builtins":
        return None
    words = re.sub(r"^[Pp]lease ", "", found[1].strip())
    named = _named(context)
    return f"{words[:1].lower()}{words[1:]}" + (f" (here {named})" if named else "")


@hint(r"(?:at least|minimum of) (\d|one|two|three)[- ]?(?:D\b|dim)|at least (\d)-?D")
def more_dimensions(match: re.Match[str], context: Context) -> str | None:
    want = _count(match[1] or match[2] or "")
    if want is None:
        return None
    shapes = _shapes(context)
    return (
        f"give it {want} dimension{'s' * (want != 1)} or more: unsqueeze(0) adds one in front, unsqueeze(-1) one "
        f"behind" + (f" (here {shapes})" if shapes else "")
    )


@hint(
    r"(?i)(\d)-?D(?: or (\d)-?D)?\b|(one|two|\d|1|2)[- ]dimensional|(\d|one|two) or (?:fewer|less) "
    r"dimensions|(?:have|has|with) (\d) dimensions?"
    r"|dimensions? .*\b(?:expected|should be|must be) (\d)|[Tt]ensor dimension is \d, expected (\d)|\b(?:a|1) "
    r"vector\b|\ba matrix\b|matrices"
)
def dimensions(match: re.Match[str], context: Context) -> str | None:
    if not re.search(r"(?i)expect|must|should|only|has to|need|require|support|supposed|got|fewer|but", context.head):
        return None
    shapes = _shapes(context)
    want = match[0] if re.search(r"\dD|\d-?D|dimensional|vector|matri", match[0]) else "another number of dimensions"
    return (
        f"it takes {want}: unsqueeze(0) adds a dimension, squeeze(0), flatten() or an index takes one away"
        + (f" (here {shapes})" if shapes else "")
    )


@hint(r"divisib|multiple of|does not divide|evenly")
def divisors(_: re.Match[str], context: Context) -> str | None:
    return _told(context, "take sizes that divide each other")


@hint(
    r"(?:must|should|can|cannot|only|[Ee]ither|exactly|at most) .*(?:\bone of\b|\beither\b|\bor\b.*\bnot "
    r"both|both|together|mutually exclusive|at the same time)"
    r"|^[Ee]ither .* or |\bboth\b.*(specified|given|provided|defined)|cannot be (?:used|given|specified|set) "
    r"together|mutually exclusive"
    r"|[Oo]nly one of|are not supported together|incompatible with|cannot (?:specify|pass|set|use) both"
)
def one_of_two(match: re.Match[str], context: Context) -> str | None:
    words = re.findall(r"['\"`](\w+)['\"`]", context.head) or [
        name for name in _arguments(context) if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", context.head)
    ]
    if re.search(r"either be |should be either|must be either", context.head):
        return None
    if re.search(r"one of|must be either", context.head) and not re.search(r"not both|both|together", context.head):
        return _told(context, "choose one of those that the text lists")
    return _told(
        context,
        f"pass what the text asks "
        f"for{': ' + ' or '.join(dict.fromkeys(words)) if len(words) > 1 else ''}, and leave the other out",
    )


@hint(r"got an unexpected keyword argument")
def keywords(_: re.Match[str], context: Context) -> str | None:
    return _see(context).removeprefix("; ") or None


@hint(
    r"is not a valid|[Ii]nvalid "
    r"(?:value|mode|norm|option|reduction|choice|type)|[Uu]n(?:known|recogni[sz]ed|expected) |must be in \[|not in "
    r"\[|choose"
    r"|one of [\[(`'\"]|valid (?:values|options|choices)|is unknown"
)
def choices(_: re.Match[str], context: Context) -> str | None:
    return _told(context, "choose a value that it knows")


@hint(r"same (?:number of dim|dim|rank)|number of dimensions .*(?:match|equal)")
def equal_dimensions(_: re.Match[str], context: Context) -> str | None:
    shapes = _shapes(context)
    return "give both as many dimensions: unsqueeze() adds one to the smaller" + (f" (here {shapes})" if shapes else "")


@hint(
    r"same (?:dtype|data type|scalar type|type)|dtypes? (?:must|should|do(?:es)? not|don't)|different "
    r"dtypes|expected dtype|type mismatch|"
    r"[Ee]xpected (?:a )?(?:long|int|float|double|bool\w*|complex|real|integral|floating[- "
    r"]point)|integral|integer (?:type|tensor|input)s?|"
    r"float(?:ing)?(?:[- ]point)? (?:or \w+ )?(?:type|tensor|dtype|input)s?|complex "
    r"(?:type|tensor|dtype|input|number)s?|[Bb]ool(?:ean)? (?:input|tensor|type|dtype)s?|"
    r"real[- ]valued|Integral inputs"
)
def other_dtype(match: re.Match[str], context: Context) -> str | None:
    head = context.head
    dtypes = ", ".join(
        f"{name} {x.dtype}" for name, x in context.operands()[:4]
    )
    here = f" (here {dtypes})" if dtypes else ""
    if not dtypes and re.search(r"got (?:str|float|int|list|tuple|NoneType|bool)\b", head):
        want = "int" if re.search(r"\b(?:long|[Ii]nt)", match[0]) else "float"
        return f"give it a Python number: {want}(value){_see(context)}"
    negative = re.search(
        r"(?:not|n't|no|cannot|may not|un)\W?(?:\w+ ){0,3}support|not "
        r"(?:be|accept|implemented|allow)|unsupported|does not",
        head,
    )
    if re.search(r"[Bb]ool", match[0]) and negative:
        return f"a mask is no number here: cast it with .int() or .float() first{here}"
    if re.search(r"[Ii]nteg", match[0]) and negative:
        return f"integers do not do here: cast with .float() first{here}"
    if re.search(r"[Cc]omplex", match[0]) and negative:
        return f"it takes real numbers: x.real, x.imag or x.abs(){here}"
    if re.search(r"\b(?:long|[Ii]nt)", match[0]):
        return f"it takes integers: cast with .long(){here}"
    if re.search(r"[Bb]ool", match[0]):
        return f"it takes a mask: mask.bool(), or a comparison such as x > 0{here}"
    if re.search(r"same|different|mismatch|dtypes? (?:must|should|do)", match[0]):
        return f"make them one dtype: x.to(y.dtype){here}"
    if re.search(r"[Cc]omplex", match[0]) and not re.search(r"float|real", head):
        return f"it takes complex numbers: torch.complex(real, imag), or x.to(torch.complex64){here}"
    return f"it takes floating numbers: cast with .float(){here}"


@hint(r"same (?:device)|on (?:the same )?device|device type")
def other_device(_: re.Match[str], context: Context) -> str | None:
    return "move one of them: x.to(y.device)"


@hint(
    r"same (?:size|shape|length|number|batch|numel)|(?:size|shape|length|dimension|batch|number)\w* "
    r".*(?:match|equal|agree|inconsistent|differ|compatible|broadcast)"
    r"|should match|must align|need to match"
    r"|inconsistent|[Ii]ncompatible|[Mm]ismatch|do(?:es)? not match|don't match|must match|not broadcastable|must "
    r"be equal to|should be equal to|[Ee]xpected .*(?:shape|size)"
)
def equal_sizes(_: re.Match[str], context: Context) -> str | None:
    shapes = _shapes(context)
    named = _named(context)
    here = shapes or named
    demand = _demand(context)
    what = f"{demand}: reshape, slice or pad one of them" if demand else (
        "make the sizes equal: reshape, slice or pad one of them")
    return what + (f" (here {here})" if here else "") + _see(context)


@hint(r"non-?empty|empty|no elements|non-zero (?:size|number)|zero[- ]size|zero elements|at least one|0 elements")
def emptiness(_: re.Match[str], context: Context) -> str | None:
    shapes = _shapes(context)
    return "there is nothing in it: look at how it came to be empty, or leave it out before" + (
        f" (here {shapes})" if shapes else ""
    )


@hint(
    r"(?:>=?|<=?) ?-?\d|non-?negative|negative|positive|greater than|larger than|less than|smaller than|at "
    r"(?:most|least)|between|range|must be in|within|"
    r"too (?:large|small|high|low|big|many|few)|exceed|out of (?:bounds|range)|non-?zero|nonzero|can(?:not|'t| "
    r"not) be (?:zero|0)|overflow|bound|should not be zero|finite"
)
def ranges(_: re.Match[str], context: Context) -> str | None:
    wrong = [
        name
        for name, value in _arguments(context).items()
        if isinstance(value, Tensor) and re.search(rf"(?<![\w.]){re.escape(name)}(?!\w)", context.head)
    ]
    if wrong and re.search(r"negative|positive|greater than 0|> ?0|>= ?0", context.head):
        name = wrong[0]
        return (
            f"its values must be 0 or more: {name}.clamp(min=0), {name}.exp() or F.softplus({name}) makes them so"
            f"{_see(context)}"
        )
    return _told(context, "take a number that fits")


@hint(
    r"requires? (?:at least |exactly )?(?:\d+|one|two)|[Ee]xpect(?:s|ed)? (?:at least |exactly |only "
    r")?(?:\d+|one|two) \w+|missing|takes? (?:at least |exactly )?\d|"
    r"no (?:arguments|inputs)|not enough|number of (?:arguments|inputs|outputs|tensors)|must be "
    r"(?:specified|provided|given|defined|passed)|requires specifying|You must"
)
def counted(_: re.Match[str], context: Context) -> str | None:
    return _told(context, "give it as many as the text says")


@hint(
    r"(?:must|should|has to|needs? to|expects?|expected|can only|only)\b.*\b(?:be|is|are|have|a|an|got|of "
    r"type|instance|found|set|take|accept)\b|[Ee]xpected .* (?:but )?got|"
    r"(?:must|should|can) be |wrong type|not an? |is not a|instead of"
)
def other_kinds(_: re.Match[str], context: Context) -> str | None:
    return _told(context, "give it what it takes")


@hint(r"requires? grad|grad(?:ient)?s? .*(?:not|cannot|can't)|differentiable|autograd")
def recorded(_: re.Match[str], context: Context) -> str | None:
    return "where no gradient is needed there, detach() the tensor or work under torch.no_grad()"


@hint(r"already|twice|again|more than once|before|after|first|once|duplicate|unique|repeated")
def order(_: re.Match[str], context: Context) -> str | None:
    return _told(context, "do each step once, in the order that the text says")


@hint(
    r"(?i)not (?:yet )?(?:implemented|supported|available|possible|allowed|permitted)|unsupported|does(?: not|n't) "
    r"support|do not support|cannot|can't|can not|"
    r"only (?:implemented|supported|works?|for|support)|not meaningful|no longer|deprecated|Unable"
)
def unsupported(_: re.Match[str], context: Context) -> str | None:
    return _told(context, "leave out what the text names, or bring the input into a form that it takes")


@hint(r"\binfs?\b|\bNaNs?\b|\bnan\b|not finite")
def not_finite(_: re.Match[str], context: Context) -> str | None:
    return (
        "look for the first operation that made them: with claygrad.debug.trace_nans(); x.isfinite() says which "
        "are good"
    )


@hint(
    r"\brequire[sd]?\b|\bneeds?\b|not satisfied|is not "
    r"==|[Ii]nvalid|[Ww]rong|[Uu]nexpected|incorrect|Expect\b|ambiguous"
)
def demanded(_: re.Match[str], context: Context) -> str | None:
    return _told(context, "change what the text names")
