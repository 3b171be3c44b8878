//! Claims: what is refused, what holds and what does not.
