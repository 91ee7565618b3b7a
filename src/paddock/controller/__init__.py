"""The same loop, in a cluster: AgentRuns are the fleet, a Lease says who leads, quotas are room."""
