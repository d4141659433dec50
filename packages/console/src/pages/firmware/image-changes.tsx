/** Dialogs that change an image. Each explains its effect first. */
import type { FirmwareImageView } from "@tendon/protocol";
import { useId, useState } from "react";
import { useImageChange, useImageRemoval } from "../../api/firmware.ts";
import { useFleetTags } from "../../api/fleet-tags.ts";
import { useI18n } from "../../i18n/i18n.tsx";
import { Button } from "../../ui/button.tsx";
import { Switch } from "../../ui/controls.tsx";
import { Confirm, Dialog } from "../../ui/dialog.tsx";
import { ProblemNote } from "../../ui/problem.tsx";
import { TagField, wordsOf } from "../../ui/tag-field.tsx";
import { ShareField } from "./share-field.tsx";

interface ChangeProps {
  readonly image: FirmwareImageView;
  readonly onClose: () => void;
}

/** Which boards are offered an image: their tags and their share. */
export function OfferDialog({ image, onClose }: ChangeProps) {
  const { t, either } = useI18n();
  const [share, setShare] = useState(image.share);
  const [text, setText] = useState(image.tags.join(" "));
  const known = useFleetTags(true);
  const tags = wordsOf(text);
  const isRetagged = tags.join(" ") !== image.tags.join(" ");
  const change = useImageChange(image, onClose);
  return (
    <Dialog
      open
      onClose={onClose}
      title={t("firmware.shareTitle", image)}
      description={t(tags.length === 0 ? "firmware.shareEffect" : "firmware.shareEffectTagged", {
        board: image.board,
        version: image.version,
        share,
        tags: either(tags),
      })}
    >
      <form
        className="flex flex-col gap-4 overflow-y-auto p-5"
        onSubmit={(event) => {
          event.preventDefault();
          change.mutate({ share, ...(isRetagged ? { tags } : {}) });
        }}
      >
        <TagField
          label={t("edit.tags")}
          hint={t("firmware.tagsHint")}
          value={text}
          known={known}
          onChange={setText}
        />
        <ShareField share={share} onChange={setShare} />
        {change.isError && <ProblemNote error={change.error} />}
        <div className="flex flex-wrap justify-end gap-2">
          <Button onClick={onClose}>{t("action.cancel")}</Button>
          <Button
            type="submit"
            look="primary"
            disabled={change.isPending || (share === image.share && !isRetagged)}
          >
            {t("firmware.changeOffer")}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

export function HaltDialog({ image, open, onClose }: ChangeProps & { readonly open: boolean }) {
  const { t } = useI18n();
  const change = useImageChange(image, onClose);
  return (
    <Confirm
      open={open}
      onClose={onClose}
      onConfirm={() => change.mutate({ state: "halted" })}
      request={change}
      title={t("firmware.haltTitle", image)}
      effect={t("firmware.haltEffect")}
      action={t("firmware.halt")}
    />
  );
}

export function ResumeDialog({ image, onClose }: ChangeProps) {
  const { t } = useI18n();
  const id = useId();
  const [retry, setRetry] = useState(false);
  const change = useImageChange(image, onClose);
  return (
    <Confirm
      open
      onClose={onClose}
      onConfirm={() => change.mutate({ state: "offered", ...(retry ? { retry } : {}) })}
      request={change}
      title={t("firmware.resumeTitle", image)}
      effect={t("firmware.resumeEffect", image)}
      action={t("firmware.resume")}
    >
      {image.devices.failed > 0 && (
        <span className="flex items-center gap-3">
          <Switch id={id} checked={retry} onChange={setRetry} />
          <label htmlFor={id}>{t("firmware.retry")}</label>
        </span>
      )}
    </Confirm>
  );
}

export function RemoveDialog({ image, open, onClose }: ChangeProps & { readonly open: boolean }) {
  const { t } = useI18n();
  const removal = useImageRemoval(image, onClose);
  return (
    <Confirm
      open={open}
      onClose={onClose}
      onConfirm={() => removal.mutate()}
      request={removal}
      title={t("firmware.removeTitle", image)}
      effect={t("firmware.removeEffect")}
      action={t("firmware.remove")}
    />
  );
}
