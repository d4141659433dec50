/** The gateway as a library, to start and stop one inside a program or a test. */
export { type Addresses, addressesOf, isLoopbackHost, lanAddresses, otaProblem } from "./addresses.ts";
export { readAddressToken } from "./agent/agent.ts";
export { type Clock, systemClock, type Timer } from "./clock.ts";
export {
  type Config,
  type ConfigInput,
  type ConfigSources,
  headersOf,
  type LoadedConfig,
  loadConfig,
  settingsReference,
  withoutSecrets,
} from "./config/config.ts";
export { errorKinds, StartError, TendonError } from "./errors.ts";
export { type StartOptions, startGateway, startTendon, type Tendon } from "./gateway.ts";
export { disablePretenuring } from "./gc-tuning.ts";
export { openFileWarning } from "./open-files.ts";
export { backUp, examineStorage, restoreBackup } from "./store/store.ts";
export { version } from "./version.ts";
export { cleanHomeAssistant, examineHomeAssistant, startProblems } from "./wiring/wiring.ts";
