//! `parabench report`: the tables of a stored run.
