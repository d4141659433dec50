/**
 * Firmware updates: the library of images, which device is offered which image, downloads, and whether updated devices
 * come back. Images are files in a node's data folder and are copied to other nodes on demand. The store has the
 * metadata of each image and the progress of each device.
 */
import type { FastifyInstance } from "fastify";
import type { Clock } from "../clock.ts";
import type { Cluster } from "../cluster/cluster.ts";
import type { Config } from "../config/config.ts";
import type { Events } from "../events/events.ts";
import { FirmwareFiles, type Store } from "../store/store.ts";
import { chooseImage } from "./choice.ts";
import { Copies, type OtherNodes } from "./copies.ts";
import { firmwarePath, firmwareRoutes } from "./download-routes.ts";
import { FirmwareLibrary } from "./library.ts";
import { FirmwareLinks } from "./links.ts";
import { Rollout } from "./rollout.ts";

export interface FirmwareDependencies {
  readonly store: Store;
  readonly files: FirmwareFiles;
  readonly others: OtherNodes | undefined;
  readonly clock: Clock;
  readonly events: Events;
  readonly rules: Config["firmware"];
  /** Signs the download addresses. */
  readonly secret: string;
  readonly base: () => string;
  readonly tagsOf: (deviceId: string) => readonly string[];
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

  static async open({ secret, ...dependencies }: FirmwareDependencies): Promise<Firmware> {
    const copies = new Copies(dependencies);
    const library = new FirmwareLibrary({ ...dependencies, copies });
    const links = new FirmwareLinks(secret, dependencies.clock);
    return new Firmware(library, await Rollout.open({ ...dependencies, library, links, copies }), copies);
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
  /** The gateway's address for devices. */
  readonly address: () => string;
  /** The tags of a device, also of one that has never connected. */
  readonly tagsOf: (deviceId: string) => readonly string[];
}

/** The RPC topic for requests between nodes about images. */
const topic = "firmware";
const askMs = 3_000;

export type OpenedFirmware = Awaited<ReturnType<typeof openFirmware>>;

/** Opens the firmware updates as configured, and serves this node's images to other nodes. */
export async function openFirmware({
  config,
  dataFolder,
  address,
  cluster,
  ...dependencies
}: OpenFirmwareDependencies) {
  const { clock, events } = dependencies;
  const firmware = await Firmware.open({
    ...dependencies,
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
    /** The version that a board is offered at its next boot. */
    async latestFor(device: {
      readonly id: string;
      readonly board: string | undefined;
      readonly firmware: string | undefined;
    }) {
      const { id: deviceId, board, firmware: version } = device;
      if (board === undefined || version === undefined) return undefined;
      const images = (await library.current()).filter((image) => image.board === board);
      return chooseImage({ deviceId, board, version }, dependencies.tagsOf(deviceId), images, new Map())
        ?.version;
    },
    routes: (http: FastifyInstance) =>
      firmwareRoutes(http, { clock, open: (token, abort) => rollout.download(token, abort) }),
    async stop() {
      unsubscribe();
      await rollout.stop();
    },
  };
}
