"""What failures have in common, and what that usually comes from. Pure; it decides nothing.

Lost queries are looked at one by one by people; causes are not. A removed document, an id that moved or a tokenizer that lost its digits
each leave a trace over many queries, which this looks for.
"""
