import fs from "node:fs/promises";
import path from "node:path";
import type { FirmwareDetail, FirmwareImageView, FirmwareList } from "@tendon/protocol";
import { OperationError, UsageError } from "../errors.ts";
import { GatewayClient } from "../gateway-client.ts";
import { ago, colours, complain, plain, print, printJson, printTable } from "../output.ts";
import { ownCommand } from "../own-command.ts";
import { readTarget, type TargetOptions } from "../target.ts";

interface FirmwareOptions extends TargetOptions {
  readonly json?: boolean;
}

export interface AddOptions extends FirmwareOptions {
  readonly board: string;
  readonly version?: string;
  readonly share?: string;
  readonly tag: readonly string[];
  readonly force?: boolean;
  readonly anyBoard?: boolean;
}

const progressBytes = 2 * 1024 * 1024;

export async function addFirmware(file: string, options: AddOptions): Promise<void> {
  const client = new GatewayClient(readTarget(options));
  const query = new URLSearchParams({ board: options.board });
  if (options.version !== undefined) query.set("version", options.version);
  if (options.share !== undefined) query.set("share", String(readShare(options.share)));
  for (const tag of options.tag) query.append("tags", tag);
  if (options.force === true) query.set("force", "true");
  if (options.anyBoard === true) query.set("anyBoard", "true");
  const bytes = await read(file);
  if (bytes.length > progressBytes && process.stderr.isTTY) {
    complain(`uploading ${path.basename(file)}, ${megabytes(bytes.length)} …`);
  }
  const added = await client.upload<FirmwareDetail>(`/firmware?${query}`, bytes);
  if (options.json === true) {
    printJson(added);
    return;
  }
  const boards = `boards with that name${tagsAfter("and", added)}`;
  const to = added.share === 100 ? `all ${boards}` : `${added.share} % of the ${boards}`;
  print(`${added.id}  ${added.board} ${added.version} (${added.chip}, ${megabytes(added.size)})`);
  print(
    `It is offered to ${to} the next time they start. \`${ownCommand()} firmware list\` shows the progress.`,
  );
}

export async function listFirmware(options: FirmwareOptions): Promise<void> {
  const list = await new GatewayClient(readTarget(options)).get<FirmwareList>("/firmware");
  if (options.json === true) {
    printJson(list);
    return;
  }
  if (list.images.length === 0) {
    print(`No images. Add one with \`${ownCommand()} firmware add FILE --board NAME\`.`);
    return;
  }
  const now = Date.now();
  await printTable(
    [
      "ID",
      "BOARD",
      "VERSION",
      "SIZE",
      "SHARE",
      "TAGS",
      "STATE",
      "OFFERED",
      "FETCHED",
      "UPDATED",
      "FAILED",
      "ADDED",
    ],
    list.images.map((image) => [
      image.id,
      plain(image.board),
      `${image.version}${image.force ? " (forced)" : ""}`,
      megabytes(image.size),
      `${image.share} %`,
      image.tags.join(" "),
      stateOf(image),
      ...(["offered", "fetched", "updated", "failed"] as const).map((part) => String(image.devices[part])),
      ago(image.addedAt, now),
    ]),
  );
}

export async function showFirmware(id: string, options: FirmwareOptions): Promise<void> {
  await show(await new GatewayClient(readTarget(options)).get<FirmwareDetail>(at(id)), options);
}

export async function shareFirmware(id: string, share: string, options: FirmwareOptions): Promise<void> {
  await change(id, { share: readShare(share) }, options);
}

export async function tagFirmware(
  id: string,
  tags: readonly string[],
  options: FirmwareOptions & { readonly all?: boolean },
): Promise<void> {
  if (tags.length > 0 === (options.all === true))
    throw new UsageError("Name the tags, or use --all to offer the image to all boards with that name.");
  await change(id, { tags }, options);
}

export async function haltFirmware(id: string, options: FirmwareOptions): Promise<void> {
  await change(id, { state: "halted" }, options);
}

export async function resumeFirmware(
  id: string,
  options: FirmwareOptions & { readonly retry?: boolean },
): Promise<void> {
  await change(id, { state: "offered", ...(options.retry === true ? { retry: true } : {}) }, options);
}

export async function removeFirmware(id: string, options: FirmwareOptions): Promise<void> {
  await new GatewayClient(readTarget(options)).remove(at(id));
  if (options.json !== true) print(`image ${id} is removed; boards that have it keep it`);
}

async function change(id: string, body: object, options: FirmwareOptions): Promise<void> {
  await show(await new GatewayClient(readTarget(options)).patch<FirmwareDetail>(at(id), body), options);
}

async function show(image: FirmwareDetail, options: FirmwareOptions): Promise<void> {
  if (options.json === true) {
    printJson(image);
    return;
  }
  const { devices } = image;
  print(
    `${plain(image.board)} ${image.version}, ${image.share} %${tagsAfter("with", image)}, ${stateOf(image)}`,
  );
  if (image.haltedReason !== null) print(`halted: ${plain(image.haltedReason)}`);
  print(
    `${devices.offered} offered, ${devices.fetched} fetched, ${devices.updated} updated, ${devices.failed} failed`,
  );
  if (image.failures.length === 0) return;
  const now = Date.now();
  await printTable(
    ["DEVICE", "REASON", "WHEN"],
    image.failures.map(({ device, reason, at: when }) => [device, plain(reason), ago(when, now)]),
  );
}

/** Which of the boards are offered an image, after a word that connects it. */
function tagsAfter(word: string, { tags }: FirmwareImageView): string {
  if (tags.length === 0) return "";
  return ` ${word} ${tags.length === 1 ? "the tag" : "one of the tags"} ${tags.join(", ")}`;
}

function stateOf({ state, here }: FirmwareImageView): string {
  if (!here) return colours.red("file missing");
  return state === "halted" ? colours.red("halted") : colours.green("offered");
}

function at(id: string): string {
  return `/firmware/${encodeURIComponent(id)}`;
}

/** `10%` or `10`. */
function readShare(text: string): number {
  const match = /^(\d{1,3})\s*%?$/.exec(text.trim());
  const share = Number(match?.[1]);
  if (match === null || share > 100)
    throw new UsageError(`Invalid share \`${text}\`. Use a form such as 10%.`);
  return share;
}

async function read(file: string): Promise<Buffer> {
  try {
    return await fs.readFile(file);
  } catch (error) {
    throw new OperationError(
      `Cannot read ${file} (${error instanceof Error ? error.message : String(error)}).`,
    );
  }
}

function megabytes(bytes: number): string {
  return bytes < 1024 * 1024 ? `${Math.ceil(bytes / 1024)} KiB` : `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
}
