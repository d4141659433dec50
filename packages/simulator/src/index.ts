/**
 * Devices that are not there, over real wires: for developing and testing a backend without hardware, for
 * showing what one does, and for finding out how it bears a bad device or a thousand good ones.
 */
export { type Clock, systemClock } from "./clock.ts";
export {
  ConnectError,
  type ConnectErrorCode,
  DeviceOptionError,
  SimulatorError,
  ToolDefinitionError,
  ToolFailure,
  WaitError,
} from "./errors.ts";
export * from "./esp32/esp32.ts";
