"""What scripts/bench is made of: a server, contestants, works, and a report."""
