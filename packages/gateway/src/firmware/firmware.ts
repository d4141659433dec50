/**
 * Firmware updates: the library of images, which device is offered which image, downloads, and whether updated devices
 * come back. Images are files in a node's data folder and are copied to other nodes on demand. The store keeps what is
 * known of each image and the progress of each device.
 */
import type { FastifyInstance } from "fastify";
import type { Clock } from "../clock.ts";
import type { Cluster } from "../cluster/cluster.ts";
import type { Config } from "../config/config.ts";
import type { Events } from "../events/events.ts";
import { FirmwareFiles, type Store } from "../store/store.ts";
import { Copies, type OtherLibraries } from "./copies.ts";
import { firmwarePath, firmwareRoutes } from "./download-routes.ts";
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

export interface OpenFirmwareDependencies {
  readonly config: Config;
  readonly dataFolder: string;
  readonly store: Store;
  readonly clock: Clock;
  readonly events: Events;
  readonly secret: string;
  readonly cluster: Cluster | undefined;
  /** The gateway's address as devices are given it. */
  readonly address: () => string;
}

/** What nodes ask one another about images. */
const topic = "firmware";
const askMs = 3_000;

export type OpenedFirmware = Awaited<ReturnType<typeof openFirmware>>;

/** Opens the firmware updates from the settings, and serves the images of this node to others. */
export async function openFirmware({
  config,
  dataFolder,
  address,
  cluster,
  ...needs
}: OpenFirmwareDependencies) {
  const { clock, events } = needs;
  const firmware = await Firmware.open({
    ...needs,
    files: new FirmwareFiles(dataFolder),
    others: cluster && {
      nodes: () => cluster.nodes().flatMap(({ instance: id }) => (id === cluster.instance ? [] : [id])),
      ask: (node, question) => cluster.rpc.askNode(node, topic, question, { timeoutMs: askMs }),
    },
    rules: config.firmware,
    base: () => `${address()}${firmwarePath}`,
  });
  const { library, rollout, copies } = firmware;
  cluster?.rpc.serveNode(topic, (question) => copies.answer(question));
  const unsubscribe = events.subscribe(({ type, device }) => {
    if (type === "device.online" && device !== undefined) rollout.connected(device);
  });
  return {
    library,
    offer: rollout.offer.bind(rollout),
    routes: (http: FastifyInstance) =>
      firmwareRoutes(http, { clock, open: (word, cut) => rollout.download(word, cut) }),
    async stop() {
      unsubscribe();
      await rollout.stop();
    },
  };
}
