/**
 * Firmware of boards: which images there are, who is offered which, and whether those who took one come back. Images
 * are files of a node's data folder, copied to others that need them; what is known of them, and of every device's
 * way with them, is in the store.
 */
import type { Clock } from "../../clock.ts";
import type { Config } from "../../config/config.ts";
import type { Events } from "../../events/events.ts";
import type { FirmwareFiles, Store } from "../../store/store.ts";
import { Copies, type OtherLibraries } from "./copies.ts";
import { FirmwareLibrary } from "./library.ts";
import { FirmwareLinks } from "./links.ts";
import { Rollout } from "./rollout.ts";

export interface FirmwareNeeds {
  readonly store: Store;
  readonly files: FirmwareFiles;
  readonly others: OtherLibraries | undefined;
  readonly clock: Clock;
  readonly events: Events;
  readonly rules: Config["firmware"];
  /** What addresses are signed with, or made of. */
  readonly secret: string;
  readonly base: () => string;
}

export class Firmware {
  readonly library: FirmwareLibrary;
  readonly rollout: Rollout;
  readonly copies: Copies;

  private constructor(library: FirmwareLibrary, rollout: Rollout, copies: Copies) {
    this.library = library;
    this.rollout = rollout;
    this.copies = copies;
  }

  static async open({ secret, ...needs }: FirmwareNeeds): Promise<Firmware> {
    const copies = new Copies(needs);
    const library = new FirmwareLibrary({ ...needs, copies });
    const links = new FirmwareLinks(secret, needs.clock);
    return new Firmware(library, await Rollout.open({ ...needs, library, links, copies }), copies);
  }
}
