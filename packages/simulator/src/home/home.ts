/**
 * The simulated home: lights, an alarm and who is there, for agent developers without hardware. Its core is a state
 * and tools over it (SimulatedHome); around it lie where the state is kept (one file that several processes may
 * share) and how it is spoken with (one JSON message a line). This door has nothing to do with the other simulated
 * devices and loads nothing but Node, so that a home is there as quickly as a process can be.
 */
export { changesBetween, type HomeEvent } from "./changes.ts";
export type { ClimateReport } from "./climate.ts";
export { longestLine, protocolVersion } from "./conversation.ts";
export { FileStore, type FileStoreOptions } from "./file-store.ts";
export {
  HomeCallError,
  type HomeCallErrorCode,
  HomeSettingsError,
  HomeStateError,
  type HomeStateErrorCode,
  type SettingsProblem,
  type SettingsRule,
} from "./home-errors.ts";
export { type LineInput, standardInput, streamInput } from "./line-input.ts";
export { type HomeServer, type HomeServerEnd, type HomeServerOptions, serveHome } from "./line-server.ts";
export { type HomeNotice, type OpenedHome, type OpenHomeOptions, openHome } from "./open-home.ts";
export { defaultSettings, type Feature, type HomeSettings, type Scene } from "./settings.ts";
export { SimulatedHome, type SimulatedHomeOptions } from "./simulated-home.ts";
export type { HomeState, Visit } from "./state.ts";
export { type HomeStore, MemoryStore } from "./store.ts";
export type { HomeToolDefinition } from "./tool.ts";
