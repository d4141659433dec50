import type { CallReply, DeviceDetail } from "@tendon/protocol";
import { useId, useState } from "react";
import { useToolCall } from "../../api/calls.ts";
import { useI18n } from "../../i18n/i18n.tsx";
import { Button } from "../../ui/button.tsx";
import { TextInput } from "../../ui/field.tsx";
import { Panel } from "../../ui/states.tsx";
import { BlockedNote, useAway } from "./blocked.tsx";
import { PictureOutcome } from "./picture-outcome.tsx";

/** Takes a photo with a question, and shows the photo and the answer. */
export function PhotoPanel({
  device,
  needsApproval,
}: {
  readonly device: DeviceDetail;
  readonly needsApproval: boolean;
}) {
  const { t } = useI18n();
  const away = useAway(device);
  const note = useId();
  const [question, setQuestion] = useState("");
  const call = useToolCall(device.id);
  const take = () =>
    call.mutate({
      tool: "self.camera.take_photo",
      args: { question: question.trim() === "" ? t("photo.defaultQuestion") : question.trim() },
    });
  return (
    <Panel title={t("photo.title")}>
      <form
        className="flex gap-2 px-4 pt-2 pb-4"
        onSubmit={(event) => {
          event.preventDefault();
          take();
        }}
      >
        <TextInput
          aria-label={t("photo.question")}
          placeholder={t("photo.defaultQuestion")}
          value={question}
          onChange={({ target }) => setQuestion(target.value)}
        />
        <Button
          type="submit"
          look="primary"
          icon="camera"
          disabled={away !== undefined || call.isPending}
          aria-describedby={away === undefined ? undefined : note}
        >
          {t("photo.take")}
        </Button>
      </form>
      <div className="px-4 pb-4 empty:hidden">
        {away !== undefined && <BlockedNote id={note} why={away} device={device.id} />}
        <PictureOutcome call={call} needsApproval={needsApproval} shown={explained} />
      </div>
    </Panel>
  );
}

/** Extracts the sentence from the vision service's JSON answer. */
function explained(reply: CallReply): CallReply {
  const { content } = reply.result;
  const pictures = content.filter(({ type }) => type === "image");
  const others = content
    .filter(({ type }) => type !== "image")
    .map((part) => (part["type"] === "text" ? { ...part, text: sentenceIn(part["text"]) } : part));
  // The photo first, then the answer.
  return { ...reply, result: { ...reply.result, content: [...pictures, ...others] } };
}

function sentenceIn(text: unknown): unknown {
  try {
    const { result, message } = JSON.parse(String(text)) as { result?: unknown; message?: unknown };
    return [result, message].find((word) => typeof word === "string") ?? text;
  } catch {
    return text;
  }
}
