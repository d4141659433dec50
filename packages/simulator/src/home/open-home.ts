import fs from "node:fs";
import path from "node:path";
import type { Clock } from "../clock.ts";
import { FileStore } from "./file-store.ts";
import { HomeStateError } from "./home-errors.ts";
import { loadHomeSettings } from "./settings-file.ts";
import { SimulatedHome } from "./simulated-home.ts";
import { MemoryStore } from "./store.ts";

export type HomeNotice =
  | { readonly kind: "settings_created"; readonly file: string }
  | { readonly kind: "state_put_aside"; readonly file: string; readonly backup: string };

export interface OpenHomeOptions {
  /** Folder of home.yaml and home.json. */
  readonly data: string;
  /** Settings file instead of `home.yaml` in the data folder. It must exist, unless `init` is true. */
  readonly settingsFile?: string | undefined;
  /** Writes a missing settings file with the defaults. `home.yaml` in the data folder is always written. */
  readonly init?: boolean;
  /** File with tools and state of one's own, instead of the one that the settings name. */
  readonly toolsFile?: string | undefined;
  /** False: the state is kept in memory only, and nothing is written. */
  readonly persist?: boolean;
  readonly notice?: (notice: HomeNotice) => void;
  readonly clock?: Pick<Clock, "now">;
}

export interface OpenedHome {
  readonly home: SimulatedHome;
  /** File of the state; `undefined` if it is kept in memory. */
  readonly stateFile: string | undefined;
}

export async function openHome(options: OpenHomeOptions): Promise<OpenedHome> {
  const { data, settingsFile, toolsFile, persist = true, notice, clock } = options;
  if (persist) makeFolder(data);
  const settings = await loadHomeSettings({
    file: settingsFile ?? path.join(data, "home.yaml"),
    missing: settingsFile !== undefined && options.init !== true ? "fail" : persist ? "create" : "defaults",
    toolsFile,
    created: (file) => notice?.({ kind: "settings_created", file }),
  });
  const time = clock === undefined ? {} : { clock };
  if (!persist) {
    return {
      home: new SimulatedHome({ settings, store: new MemoryStore(settings), ...time }),
      stateFile: undefined,
    };
  }
  const file = path.join(data, "home.json");
  const putAside = (backup: string) => notice?.({ kind: "state_put_aside", file, backup });
  return {
    home: new SimulatedHome({ settings, store: new FileStore({ file, settings, putAside }), ...time }),
    stateFile: file,
  };
}

function makeFolder(folder: string): void {
  try {
    fs.mkdirSync(folder, { recursive: true });
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new HomeStateError("state_unwritable", folder, reason, { cause });
  }
}
