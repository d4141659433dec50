/**
 * NORTH: agents, apps, programs and people. Each interface translates its own messages into a principal, a device, a tool
 * and arguments, and the result back. None of them decides anything about devices.
 */
export { type Console, consoleRoutes } from "./console/console.ts";
export { Endpoints, readAddressToken } from "./endpoint/endpoint.ts";
export { cleanTopics, HomeAssistant } from "./home-assistant/home-assistant.ts";
export {
  type Certificate,
  createHttp,
  docsRoutes,
  forwardMisrouted,
  type Http,
  listen,
  openCertificate,
  operationRoutes,
  portOf,
  readUsablePair,
  serveCertificate,
  unreadyParts,
} from "./http/http.ts";
export { mcpRoutes } from "./mcp/mcp.ts";
export { MqttTopics } from "./mqtt/mqtt.ts";
export { nodeList, restRoutes } from "./rest/rest.ts";
export type { Services } from "./services.ts";
export { Webhooks } from "./webhooks/webhooks.ts";
