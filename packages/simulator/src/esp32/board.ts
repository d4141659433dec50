import { randomBytes, randomUUID } from "node:crypto";
import { DeviceOptionError } from "../errors.ts";

interface WifiNetwork {
  readonly type: "wifi";
  readonly ssid: string;
  /** dBm: -60 and better is strong, -70 and better medium, the rest weak. */
  readonly rssi: number;
}

interface CellularNetwork {
  readonly type: "cellular";
  readonly carrier: string;
  readonly signal: "unknown" | "very weak" | "weak" | "medium" | "strong";
}

interface EthernetNetwork {
  readonly type: "ethernet";
  readonly ip?: string;
}

export type Network = WifiNetwork | CellularNetwork | EthernetNetwork;

export interface Screen {
  readonly width: number;
  readonly height: number;
  readonly monochrome?: boolean;
}

interface Battery {
  readonly level: number;
  readonly charging: boolean;
}

export interface BoardOptions {
  /** Board name as the firmware build knows it: lower-case letters, digits, dots and dashes. */
  readonly name?: string;
  readonly firmware?: string;
  /** Written at the factory, for activation by proof; most boards have none. */
  readonly serial?: BoardSerial;
  /** Device-Id; a random locally administered address by default. */
  readonly mac?: string;
  /** Client-Id, a UUID; random by default. */
  readonly clientId?: string;
  readonly screen?: Screen | false;
  readonly backlight?: boolean;
  readonly camera?: boolean;
  /** Screen snapshot and image preview (built in on the larger chips only). */
  readonly snapshot?: boolean;
  readonly battery?: Battery | false;
  readonly network?: Network;
  /** Chip temperature in degrees, on boards that measure it. */
  readonly chipTemperature?: number;
  readonly volume?: number;
  readonly brightness?: number;
  readonly theme?: "light" | "dark";
  /** Announces support for pushed glyphs (firmware 2.4 and later). */
  readonly glyphPush?: boolean;
  /** Echo cancellation by the server. */
  readonly aec?: boolean;
}

interface BoardSerial {
  readonly number: string;
  /** 32 bytes in hex. */
  readonly hmacKey: string;
}

/** A board with all options resolved. */
export interface Board {
  readonly name: string;
  readonly firmware: string;
  readonly mac: string;
  readonly clientId: string;
  readonly serial: BoardSerial | undefined;
  readonly screen: Required<Screen> | undefined;
  readonly backlight: boolean;
  readonly camera: boolean;
  readonly snapshot: boolean;
  readonly network: Network;
  readonly glyphPush: boolean;
  readonly aec: boolean;
}

export function makeBoard(options: BoardOptions): Board {
  const screen = options.screen === false ? undefined : (options.screen ?? { width: 320, height: 240 });
  const board: Board = {
    name: options.name ?? "virtual-esp32s3",
    firmware: options.firmware ?? "2.4.2",
    mac: options.mac ?? randomMac(),
    clientId: options.clientId ?? randomUUID(),
    serial: options.serial,
    screen: screen === undefined ? undefined : { monochrome: false, ...screen },
    backlight: options.backlight ?? (screen !== undefined && screen.monochrome !== true),
    camera: options.camera ?? true,
    snapshot: options.snapshot ?? true,
    network: options.network ?? { type: "wifi", ssid: "virtual-wifi", rssi: -55 },
    glyphPush: options.glyphPush ?? screen !== undefined,
    aec: options.aec ?? false,
  };
  checkBoard(board);
  return board;
}

function checkBoard(board: Board): void {
  if (!/^[a-z0-9.-]+$/.test(board.name)) {
    throw new DeviceOptionError(`board name "${board.name}" may contain only a-z, 0-9, "." and "-"`);
  }
  if (!/^[0-9a-f]{2}(:[0-9a-f]{2}){5}$/.test(board.mac)) {
    throw new DeviceOptionError(`mac "${board.mac}" must look like 02:00:00:00:00:01, in lower case`);
  }
  if (!/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(board.clientId)) {
    throw new DeviceOptionError(`client id "${board.clientId}" must be a UUID in lower case`);
  }
  const { screen, serial } = board;
  if (serial !== undefined && !/^[A-Za-z0-9_-]{1,32}$/.test(serial.number)) {
    throw new DeviceOptionError("a serial number is 1 to 32 letters, digits, dashes and underscores");
  }
  if (serial !== undefined && !/^[0-9a-fA-F]{64}$/.test(serial.hmacKey)) {
    throw new DeviceOptionError("the key of a serial number is 32 bytes in hex");
  }
  if (screen === undefined) return;
  for (const side of [screen.width, screen.height]) {
    if (!Number.isInteger(side) || side < 1 || side > 4096) {
      throw new DeviceOptionError(`a screen of ${screen.width}x${screen.height} is not possible`);
    }
  }
}

function randomMac(): string {
  const tail = [...randomBytes(5)].map((byte) => byte.toString(16).padStart(2, "0"));
  return ["02", ...tail].join(":");
}
