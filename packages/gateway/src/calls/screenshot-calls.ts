/** [CAM-4] Screenshots without an upload server of the caller's own: the gateway gives the device an address. */
import { hasUploadUrl, type ToolResult, textResult } from "@tendon/protocol";
import { TendonError } from "../errors.ts";
import { type LocalCall, refuseArguments, type Sent } from "../fleet/fleet.ts";

/** The uploads of screens. Each call has its own ticket, which is a part of the address. Implemented by the vision module. */
export interface Screen {
  open(
    deviceId: string,
    callId: string,
  ): { readonly ticket: string; readonly address: string; readonly url: string };
  /** Why the device cannot upload to this address; `undefined` if no problem is known. */
  uploadProblem(
    url: string,
    device: { readonly kind: string; readonly transport: string },
  ): string | undefined;
  pictureOf(ticket: string): { readonly data: string; readonly mimeType: string } | undefined;
  /** Why the gateway rejected the upload. */
  failureOf(ticket: string): string | undefined;
  close(ticket: string): void;
}

export async function takeScreenshot(screen: Screen, call: LocalCall): Promise<Sent<ToolResult>> {
  // An address of the caller's own, which the access rules have checked.
  if (hasUploadUrl(call.args)) return await call.send();
  const { ticket, address, url } = screen.open(call.record.id, call.callId);
  try {
    refuseUnreachable(screen.uploadProblem(url, call.session));
    const done = await call.send({ ...call.args, url }).catch((error: unknown) => {
      throw explained(error, url, address, screen.failureOf(ticket));
    });
    return { ...done, result: withPicture(done.result, screen, ticket) };
  } finally {
    screen.close(ticket);
  }
}

function refuseUnreachable(problem: string | undefined): void {
  if (problem === undefined) return;
  const message = `is required: the gateway has no address that this device can reach (${problem}). Set \`http.publicUrl\`, or pass an address.`;
  refuseArguments([{ path: "/url", message }]);
}

/** The firmware ignores what the gateway replies to the upload and answers `true` in any case. */
function withPicture(result: ToolResult, screen: Screen, ticket: string): ToolResult {
  const picture = screen.pictureOf(ticket);
  if (picture !== undefined) {
    return { ...result, content: [...result.content, { type: "image", ...picture }] };
  }
  if (result.isError || result.inputRequired !== undefined) return result;
  const reason = screen.failureOf(ticket) ?? "The device reported success, but it uploaded no screenshot.";
  return { ...textResult(reason), isError: true };
}

/** The device's error texts contain the address with the ticket, so the original error is not kept as the cause. */
function explained(error: unknown, url: string, address: string, failure: string | undefined): unknown {
  if (!(error instanceof TendonError) || error.code !== "device_error") return error;
  const { code, message, context, cause } = error;
  const text = message.replaceAll(url, address);
  const hint = message.includes(url)
    ? ". Set `http.publicUrl` to an address of the gateway that the device can reach"
    : failure === undefined
      ? ""
      : `. ${failure}`;
  return new TendonError(code, `${text}${hint}`, context, cause);
}
