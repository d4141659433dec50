/**
 * Parts of the composition root: each constructs several modules and connects them. They may import every entry file, and
 * no module may import them.
 */
export { type DeviceConnections, openDeviceConnections } from "./device-connections.ts";
export { type Foundation, type FoundationOptions, openFoundation, type Started } from "./foundation.ts";
export {
  cleanHomeAssistant,
  examineHomeAssistant,
  homeAssistantView,
  openHomeAssistant,
} from "./home-assistant.ts";
export { openRoutes } from "./http-routes.ts";
export { type Modules, openModules } from "./modules.ts";
export { type MqttTransport, startMqtt } from "./mqtt.ts";
export { Shutdown } from "./shutdown.ts";
export { checkStart, startProblems } from "./start-checks.ts";
