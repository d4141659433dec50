/** Base class of the simulator's errors. `code` is stable, for programs. */
export class SimulatorError extends Error {
  readonly code: string;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
    this.code = code;
  }
}

/** Options that no real board could have. */
export class DeviceOptionError extends SimulatorError {
  constructor(message: string) {
    super("device_option_invalid", message);
  }
}

/** A tool that the firmware could not register. */
export class ToolDefinitionError extends SimulatorError {
  constructor(message: string) {
    super("tool_definition_invalid", message);
  }
}

/** Thrown by a tool in the device; the message is sent unescaped. */
export class ToolFailure extends SimulatorError {
  constructor(message: string) {
    super("tool_failure", message);
  }
}

export type ConnectErrorCode =
  | "no_transport"
  | "unreachable"
  | "handshake_refused"
  | "not_authorized"
  | "hello_timeout"
  | "closed_early"
  | "ota_failed"
  | "ota_hung"
  | "crashed"
  | "stopped";

/** Why a device could not connect. */
export class ConnectError extends SimulatorError {
  declare readonly code: ConnectErrorCode;

  constructor(code: ConnectErrorCode, message: string, options?: ErrorOptions) {
    super(code, message, options);
  }
}

/** An awaited event did not happen in time. */
export class WaitError extends SimulatorError {
  constructor(message: string, options?: ErrorOptions) {
    super("wait_expired", message, options);
  }
}

/** An unknown fault or an invalid value. */
export class FaultError extends SimulatorError {
  constructor(message: string) {
    super("fault_invalid", message);
  }
}

/** An invalid tools file; the message names the file, the tool and the key. */
export class ToolsFileError extends SimulatorError {
  constructor(message: string, options?: ErrorOptions) {
    super("tools_file_invalid", message, options);
  }
}
