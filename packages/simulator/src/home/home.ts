/**
 * The simulated home: lights, an alarm and who is there, for agent developers without hardware. Its core is a state
 * and tools over it (SimulatedHome); around it lie where the state is kept (one file that several processes may
 * share) and how it is spoken with (one JSON message a line). This door has nothing to do with the other simulated
 * devices and loads nothing but Node, so that a home is there as quickly as a process can be.
 */
export { longestLine } from "./conversation.ts";
export { FileStore, type FileStoreOptions } from "./file-store.ts";
export {
  HomeCallError,
  HomeSettingsError,
  HomeStateError,
  type SettingsProblem,
} from "./home-errors.ts";
export { standardInput, streamInput } from "./line-input.ts";
export { type HomeServer, type HomeServerOptions, serveHome } from "./line-server.ts";
export { type HomeNotice, type OpenedHome, openHome } from "./open-home.ts";
export { defaultSettings } from "./settings.ts";
export { SimulatedHome } from "./simulated-home.ts";
export type { HomeState } from "./state.ts";
export { MemoryStore } from "./store.ts";
