import { ToolFailure } from "../errors.ts";
import { fromText, toText } from "./byte-text.ts";
import { formChunks, type HttpAnswer, type HttpOutcome } from "./http.ts";
import type { Machine } from "./machine.ts";
import { systemInfo } from "./reports.ts";
import { defineTool, type Tool, type ToolCallback, type ToolProperties } from "./tool.ts";
import { readWholeReply } from "./whole-reply.ts";

const boundary = "----ESP32_SCREEN_SNAPSHOT_BOUNDARY";
/** The largest image that fits into a board's memory. */
const imageLimit = 4 * 1024 * 1024;
/** Writing a setting this long to flash crashes the device. */
const settingLimit = 4000;

function userTool<const P extends ToolProperties>(
  name: string,
  description: string,
  properties: P,
  callback: ToolCallback<P>,
): Tool {
  return defineTool(name, description, properties, callback, true);
}

/** User-only tools: hidden from a plain list, but callable. */
export function userTools(machine: Machine): Tool[] {
  const { board } = machine;
  const tools = [
    userTool("self.get_system_info", "Reports the system details", {}, () =>
      toText(systemInfo(machine.board, machine.state)),
    ),
    userTool("self.reboot", "Restart the board", {}, () => {
      machine.scheduleReboot("self.reboot");
      return true;
    }),
    upgradeTool(machine),
  ];
  const { screen } = board;
  if (screen !== undefined) {
    const { width, height, monochrome } = screen;
    tools.push(
      userTool(
        "self.screen.get_info",
        "Tells what the screen is like: width, height and colouring.",
        {},
        () => ({ width, height, monochrome }),
      ),
    );
    if (board.snapshot) tools.push(snapshotTool(machine), previewTool(machine));
  }
  tools.push(assetsTool(machine));
  return tools;
}

function upgradeTool(machine: Machine): Tool {
  return userTool(
    "self.upgrade_firmware",
    "Replaces the firmware with the one found at the given address. The device downloads it, and then restarts.",
    // As in the firmware, which passes the help text as the default.
    { url: { type: "string", default: "The URL of the firmware binary file to download and install" } },
    ({ url }) => {
      machine.scheduleUpgrade(url);
      return true;
    },
  );
}

function snapshotTool(machine: Machine): Tool {
  return userTool(
    "self.screen.snapshot",
    "Takes a picture of the screen and uploads it there.",
    { url: { type: "string" }, quality: { type: "integer", default: 80, minimum: 1, maximum: 100 } },
    async ({ url, quality }) => {
      const picture = await machine.picture(quality);
      if (picture === undefined) throw new ToolFailure("Failed to snapshot screen");
      const headers = {
        "Content-Type": `multipart/form-data; boundary=${boundary}`,
        "Transfer-Encoding": "chunked",
        Connection: "close",
      };
      const chunks = formChunks(boundary, [
        { name: "file", filename: "screenshot.jpg", contentType: "image/jpeg", content: picture },
      ]);
      const answer = opened(await machine.http.post(url, headers, chunks, machine.alive), url);
      await readWholeReply(machine, answer);
      return true;
    },
  );
}

function previewTool(machine: Machine): Tool {
  return userTool(
    "self.screen.preview_image",
    "Shows a picture on the screen.",
    { url: { type: "string" } },
    async ({ url }) => {
      const answer = opened(await machine.http.get(url, machine.alive), url);
      const length = answer.contentLength ?? 0;
      if (length <= 0 || length > imageLimit) {
        answer.discard();
        throw new ToolFailure(`Failed to allocate memory for image: ${url}`);
      }
      const body = await answer.read(length);
      if (body.kind !== "whole") {
        answer.discard();
        throw new ToolFailure(`Failed to download image: ${url}`);
      }
      if (!isImage(body.bytes)) throw new ToolFailure("Failed to get image info");
      machine.state.set("preview.url", url);
      return true;
    },
  );
}

function assetsTool(machine: Machine): Tool {
  return userTool(
    "self.assets.set_download_url",
    "Sets where assets come from at boot",
    { url: { type: "string" } },
    ({ url }) => {
      if (fromText(url).length >= settingLimit) machine.crash("a setting too long for flash");
      else machine.state.set("assets.url", url);
      return true;
    },
  );
}

function opened(outcome: HttpOutcome, url: string): HttpAnswer {
  if (outcome.kind === "unopened") throw new ToolFailure(`Failed to open URL: ${url}`);
  if (outcome.status !== 200) {
    outcome.discard();
    throw new ToolFailure(`Unexpected status code: ${outcome.status}`);
  }
  return outcome;
}

const signatures = ["\x89PNG", "\xff\xd8\xff", "GIF8", "BM"];

function isImage(bytes: Buffer): boolean {
  const start = bytes.subarray(0, 4).toString("latin1");
  return signatures.some((signature) => start.startsWith(signature));
}
