import type { Backlight } from "./backlight.ts";
import type { Board } from "./board.ts";
import type { ByteText } from "./byte-text.ts";
import type { DeviceState } from "./device-state.ts";
import type { DeviceHttp } from "./http.ts";

/** The hardware and system functions that tools use. */
export interface Machine {
  readonly board: Board;
  readonly state: DeviceState;
  readonly backlight: Backlight;
  readonly http: DeviceHttp;
  /** Aborts when the device loses power. */
  readonly alive: AbortSignal;
  readonly vision: { readonly url: ByteText; readonly token: ByteText } | undefined;
  /** A JPEG of the screen; undefined if it fails. */
  picture(quality: number): Promise<Buffer | undefined>;
  /** Queues a restart after the tasks of the main loop. */
  scheduleReboot(cause: string): void;
  /** Queues a firmware download, which first closes the channel and restarts the device if it succeeds. */
  scheduleUpgrade(url: string): void;
  /** Crashes the device immediately. */
  crash(cause: string): void;
  /** The calling task waits forever. On the main loop, this hangs the device until it loses power. */
  hang(cause: string): Promise<never>;
}
