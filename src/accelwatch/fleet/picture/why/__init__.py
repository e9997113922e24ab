"""Why a device, a node or a job is as it is: one sentence, what it rests on, what to do. Pure.

`observed_state` is what is known, `troubles` what is wrong in it, `subject` what the question is about,
`answer` the sentence.
"""
