/** Both sides of an MCP endpoint of voice agents: the agent's broker, and the pipe of a tool provider. */
export { type BrokerEvent, brokerFaults, EndpointBroker } from "./endpoint-broker.ts";
export { McpPipe, type PipeEvent, pipeFaults } from "./mcp-pipe.ts";
