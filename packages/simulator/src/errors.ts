/** Everything the simulator throws on purpose; `code` is stable and meant for programs. */
export class SimulatorError extends Error {
  readonly code: string;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
    this.code = code;
  }
}

/** A board described in a way no real board could be. */
export class DeviceOptionError extends SimulatorError {
  constructor(message: string) {
    super("device_option_invalid", message);
  }
}

/** A tool that the firmware would not have been able to register. */
export class ToolDefinitionError extends SimulatorError {
  constructor(message: string) {
    super("tool_definition_invalid", message);
  }
}

/** What a tool throws inside the device; the message goes out as it is, unescaped. */
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

/** Why a device did not get its channel. */
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

/** A name that is in no fault table, or a value it cannot take. */
export class FaultError extends SimulatorError {
  constructor(message: string) {
    super("fault_invalid", message);
  }
}

/** A tools file that cannot be used; the message names the file, the tool and the key. */
export class ToolsFileError extends SimulatorError {
  constructor(message: string, options?: ErrorOptions) {
    super("tools_file_invalid", message, options);
  }
}
