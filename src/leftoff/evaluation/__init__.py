"""How right the summaries are: labels, scores with their intervals, baselines, reports.

A scorer sees labels, recorded messages and predictions as plain values; what finds something
is run by `systems` and `baselines` alone.
"""
