"""Benchmarks as pytest items: suites, isolated scoring, results, statistics and plots.

A task's way: :mod:`.suites` read it → :mod:`.folder` lays out what the healer may see → :mod:`.healing` heals it →
:mod:`.scoring` scores the healed files in a process apart → :mod:`.results` writes the line down → :mod:`.summary`,
:mod:`.compare` and :mod:`.plot` say what it means.
"""
