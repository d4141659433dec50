/**
 * Firmware updates: the library of images, which device is offered which image, downloads, and whether updated devices
 * come back. Images are files in a node's data folder and are copied to other nodes on demand. The store keeps what is
 * known of each image and the progress of each device.
 */
import type { Clock } from "../clock.ts";
import type { Config } from "../config/config.ts";
import type { Events } from "../events/events.ts";
import type { FirmwareFiles, Store } from "../store/store.ts";
import { Copies, type OtherLibraries } from "./copies.ts";
import { FirmwareLibrary } from "./library.ts";
import { FirmwareLinks } from "./links.ts";
import { Rollout } from "./rollout.ts";

export { firmwarePath, firmwareRoutes } from "./download-routes.ts";

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
