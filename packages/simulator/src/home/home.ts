/**
 * The simulated home: lights, an alarm and presence, for agent developers without hardware. Its core is a state with
 * tools (SimulatedHome). The state is kept in a file that several processes can share, and clients use one JSON message
 * per line. This entry point is separate from the other simulated devices and loads only Node modules, so that a home
 * starts fast.
 */
export { ToolsFileError } from "../errors.ts";
export { maxLineBytes } from "./conversation.ts";
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
