/**
 * NORTH: agents, apps, programs and people. Each door turns its own words into those of the services (a principal, a device,
 * a tool, arguments) and the answer back; none of them decides anything about devices.
 */
export type { IdentifyToken } from "./authentication.ts";
export { type Console, consoleRoutes } from "./console/console.ts";
export { docsRoutes } from "./docs.ts";
export { createHttp, type Http } from "./http.ts";
export { mcpRoutes } from "./mcp/mcp.ts";
export { MqttTopics } from "./mqtt-topics.ts";
export { operationRoutes } from "./operations.ts";
export { Rates, type Spent } from "./rates.ts";
export { restRoutes } from "./rest/rest.ts";
export type { Services } from "./services.ts";
