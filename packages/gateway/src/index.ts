/** The gateway as a library: start one inside your own program or test, and stop it again. */
export { type Addresses, addressesOf, isLoopbackHost, lanAddresses, otaProblem } from "./addresses.ts";
export { type Clock, systemClock, type Timer } from "./clock.ts";
export { keepYoungApart } from "./collector.ts";
export {
  type Config,
  type ConfigInput,
  type ConfigSources,
  type LoadedConfig,
  loadConfig,
  settingsReference,
  withoutSecrets,
} from "./config/config.ts";
export { errorKinds, StartError, TendonError } from "./errors.ts";
export { type StartOptions, startGateway, startTendon, type Tendon } from "./gateway.ts";
export { examineStorage } from "./store/store.ts";
export { version } from "./version.ts";
export { startProblems } from "./wiring/wiring.ts";
