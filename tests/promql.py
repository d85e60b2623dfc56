"""A small evaluator of the PromQL forms that the dashboard uses: numbers, ``-``, ``/`` (with ``ignoring``),
``sum by``, ``rate`` over two scrapes, and ``histogram_quantile``. Anything else is an error, not a guess.

A vector maps labels (sorted pairs) to values, as Prometheus' own documentation defines the functions.
"""

from __future__ import annotations

import re
from collections import defaultdict

from prometheus_client.parser import text_string_to_metric_families

_TOKEN = re.compile(r'\s*([A-Za-z_][\w:]*|\d+(?:\.\d+)?|"[^"]*"|[-/(){}\[\],=])')


class Scrapes:
    """Two scrapes of a service, with the time between them."""

    def __init__(self, before, after, seconds=300.0):
        self.before, self.after, self.seconds = _samples(before), _samples(after), seconds

    def evaluate(self, expression):
        """The value of an expression at the second scrape: a number, or labels -> value."""
        parser = _Parser(expression, self)
        value = parser.expression()
        assert not parser.tokens, f"{parser.tokens} is left of {expression}"
        return value

    def rate(self, name, labels):
        found = {}
        for (its_name, its_labels), value in self.after.items():
            if its_name == name and labels.items() <= dict(its_labels).items():
                found[its_labels] = (value - self.before.get((name, its_labels), 0.0)) / self.seconds
        return found


def _samples(text):
    samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    return {(s.name, tuple(sorted(s.labels.items()))): s.value for s in samples}


class _Parser:
    def __init__(self, expression, scrapes):
        self.tokens = _TOKEN.findall(expression)
        assert "".join(self.tokens) == re.sub(r"\s", "", expression), f"a sign of {expression} is not known"
        self.scrapes = scrapes

    def take(self, *wanted):
        token = self.tokens.pop(0)
        assert not wanted or token in wanted, f"{token!r} stands where {wanted} was expected"
        return token

    def has(self, token):
        return bool(self.tokens) and self.tokens[0] == token

    def expression(self):
        left = self.term()
        while self.has("-"):
            self.take("-")
            left = _combined(left, self.term(), lambda a, b: a - b, ())
        return left

    def term(self):
        left = self.factor()
        while self.has("/"):
            self.take("/")
            ignored = ()
            if self.has("ignoring"):
                self.take("ignoring")
                ignored = self.names()
                self.take("group_left")
            left = _combined(left, self.factor(), lambda a, b: a / b if b else float("nan"), ignored)
        return left

    def factor(self):
        token = self.take()
        if token[0].isdigit():
            return float(token)
        if token == "sum":
            return self.sum()
        self.take("(")
        if token == "rate":
            value = self.scrapes.rate(*self.selector())
        else:
            assert token == "histogram_quantile", f"{token} is not known"
            share = float(self.take())
            self.take(",")
            value = _quantiles(share, self.expression())
        self.take(")")
        return value

    def sum(self):
        by = ()
        if self.has("by"):
            self.take("by")
            by = self.names()
        self.take("(")
        sums = defaultdict(float)
        for labels, value in self.expression().items():
            sums[tuple(pair for pair in labels if pair[0] in by)] += value
        self.take(")")
        return dict(sums)

    def names(self):
        self.take("(")
        names = [self.take()]
        while self.take(",", ")") == ",":
            names.append(self.take())
        return tuple(names)

    def selector(self):
        name, labels = self.take(), {}
        if self.has("{"):
            self.take("{")
            key = self.take()
            self.take("=")
            labels[key] = self.take().strip('"')
            self.take("}")
        self.take("[")
        while self.take() != "]":
            pass
        return name, labels


def _combined(left, right, operator, ignored):
    """Applies an operator to a number and a vector, or to two vectors with equal labels (except ignored ones)."""
    if not isinstance(left, dict):
        return {labels: operator(left, value) for labels, value in right.items()}
    if not isinstance(right, dict):
        return {labels: operator(value, right) for labels, value in left.items()}
    matching = {labels: tuple(pair for pair in labels if pair[0] not in ignored) for labels in left}
    return {labels: operator(left[labels], right[key]) for labels, key in matching.items() if key in right}


def _quantiles(share, buckets):
    """Interpolates linearly within the bucket, like ``histogram_quantile``."""
    by_labels = defaultdict(list)
    for labels, count in buckets.items():
        others = tuple(pair for pair in labels if pair[0] != "le")
        by_labels[others].append((float(dict(labels)["le"]), count))
    return {labels: _quantile(share, sorted(counts)) for labels, counts in by_labels.items()}


def _quantile(share, counts):
    wanted = share * counts[-1][1]
    low, below = 0.0, 0.0
    for high, count in counts:
        if count >= wanted:
            return low if high == float("inf") else low + (high - low) * (wanted - below) / (count - below)
        low, below = high, count
    raise AssertionError("the buckets do not end with +Inf")
