"""Native core of Arbora."""
