import type { Backlight } from "./backlight.ts";
import type { Board } from "./board.ts";
import type { ByteText } from "./byte-text.ts";
import type { DeviceState } from "./device-state.ts";
import type { DeviceHttp } from "./http.ts";

/** The hardware and the system below the tools. */
export interface Machine {
  readonly board: Board;
  readonly state: DeviceState;
  readonly backlight: Backlight;
  readonly http: DeviceHttp;
  /** Ends with the current life of the device. */
  readonly alive: AbortSignal;
  readonly vision: { readonly url: ByteText; readonly token: ByteText } | undefined;
  /** A JPEG of what the screen shows, undefined if it cannot be had. */
  picture(quality: number): Promise<Buffer | undefined>;
  /** Queues a restart behind what the main loop already holds. */
  scheduleReboot(cause: string): void;
  /** Queues a firmware download, which first closes the channel and restarts the device if it succeeds. */
  scheduleUpgrade(url: string): void;
  /** The device stops dead, in the middle of whatever it does. */
  crash(cause: string): void;
  /** The task that calls this waits for ever. On the main loop that is the device, until it loses power. */
  hang(cause: string): Promise<never>;
}
