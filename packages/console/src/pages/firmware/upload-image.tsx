/** The dialog that uploads an image: file, board, tags and initial share. */
import { useInfiniteQuery } from "@tanstack/react-query";
import { firmwareLimits } from "@tendon/protocol";
import { type ReactNode, useId, useMemo, useState } from "react";
import { useUploadImage } from "../../api/firmware.ts";
import { useFleetTags } from "../../api/fleet-tags.ts";
import { fleetQuery } from "../../api/queries.ts";
import { useI18n } from "../../i18n/i18n.tsx";
import { Button } from "../../ui/button.tsx";
import { Switch } from "../../ui/controls.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { TextInput } from "../../ui/field.tsx";
import { ProblemNote } from "../../ui/problem.tsx";
import { TagField, wordsOf } from "../../ui/tag-field.tsx";
import { formatBytes } from "./bytes.ts";
import { ShareField } from "./share-field.tsx";

const allBoards = 100;
const maxBytes = firmwareLimits.imageBytes.max;

export function HandInDialog({ onClose }: { readonly onClose: () => void }) {
  const { t, number, either } = useI18n();
  const id = useId();
  const [file, setFile] = useState<File>();
  const [board, setBoard] = useState("");
  const [share, setShare] = useState(allBoards);
  const [tags, setTags] = useState("");
  const [force, setForce] = useState(false);
  const [anyBoard, setAnyBoard] = useState(false);
  const boards = useKnownBoards();
  const known = useFleetTags(true);
  const wanted = wordsOf(tags);
  const upload = useUploadImage(onClose);
  const tooBig = file !== undefined && file.size > maxBytes;
  const send = () => {
    if (file === undefined || tooBig) return;
    const about = {
      board: board.trim(),
      share,
      ...(wanted.length === 0 ? {} : { tags: wanted }),
      ...(force ? { force } : {}),
      ...(anyBoard ? { anyBoard } : {}),
    };
    upload.mutate({ file, about });
  };
  return (
    <Dialog open onClose={onClose} title={t("firmware.add")} description={t("firmware.fileHint")}>
      <form
        className="flex flex-col gap-4 overflow-y-auto p-5"
        onSubmit={(event) => {
          event.preventDefault();
          send();
        }}
      >
        <Labelled id={`${id}-file`} label={t("firmware.file")}>
          <input
            id={`${id}-file`}
            type="file"
            accept=".bin,application/octet-stream"
            required
            onChange={({ target }) => setFile(target.files?.[0])}
            className="w-full min-w-0 rounded-lg border border-line-strong bg-surface text-sm text-soft file:mr-3 file:h-8 file:border-0 file:bg-raised file:px-3 file:text-text"
          />
          {tooBig && (
            <p role="alert" className="text-sm text-bad">
              {t("firmware.tooBig", {
                most: formatBytes(number, maxBytes),
                size: formatBytes(number, file.size),
              })}
            </p>
          )}
        </Labelled>
        <Labelled id={`${id}-board`} label={t("firmware.board")}>
          <TextInput
            id={`${id}-board`}
            list={`${id}-boards`}
            aria-describedby={`${id}-board-hint`}
            value={board}
            required
            maxLength={64}
            pattern="[A-Za-z0-9._\-]+"
            title={t("firmware.boardHint")}
            autoComplete="off"
            onChange={({ target }) => setBoard(target.value)}
          />
          <datalist id={`${id}-boards`}>
            {boards.map((name) => (
              <option key={name} value={name} />
            ))}
          </datalist>
          <p id={`${id}-board-hint`} className="text-xs text-soft">
            {t("firmware.boardHint")}
          </p>
        </Labelled>
        <TagField
          label={t("edit.tags")}
          hint={t("firmware.tagsHint")}
          value={tags}
          known={known}
          onChange={setTags}
        />
        <ShareField share={share} onChange={setShare} />
        <p className="text-sm text-soft">{t("firmware.startSmall")}</p>
        <Choice id={`${id}-force`} checked={force} onChange={setForce} label={t("firmware.force")} />
        <Choice id={`${id}-any`} checked={anyBoard} onChange={setAnyBoard} label={t("firmware.anyBoard")} />
        {board.trim() !== "" && (
          <p role="status" className="text-soft">
            {t(wanted.length === 0 ? "firmware.addEffect" : "firmware.addEffectTagged", {
              share,
              board: board.trim(),
              tags: either(wanted),
            })}
          </p>
        )}
        {upload.isError && <ProblemNote error={upload.error} />}
        <div className="flex flex-wrap justify-end gap-2">
          <Button onClick={onClose}>{t("action.cancel")}</Button>
          <Button
            type="submit"
            look="primary"
            disabled={upload.isPending || file === undefined || tooBig || board.trim() === ""}
          >
            {t(upload.isPending ? "firmware.sending" : "firmware.submit")}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

function Labelled(props: { readonly id: string; readonly label: string; readonly children: ReactNode }) {
  const { id, label, children } = props;
  return (
    <div className="flex flex-col gap-1">
      <label htmlFor={id} className="text-sm font-medium">
        {label}
      </label>
      {children}
    </div>
  );
}

function Choice(props: {
  readonly id: string;
  readonly checked: boolean;
  readonly onChange: (checked: boolean) => void;
  readonly label: string;
}) {
  const { id, checked, onChange, label } = props;
  return (
    <span className="flex items-center gap-3">
      <Switch id={id} checked={checked} onChange={onChange} />
      <label htmlFor={id} className="text-sm">
        {label}
      </label>
    </span>
  );
}

/** The known board names, as suggestions. */
function useKnownBoards(): readonly string[] {
  const { data } = useInfiniteQuery(fleetQuery({}));
  return useMemo(() => {
    const devices = data?.pages.flatMap((page) => page.devices) ?? [];
    const names = devices.flatMap(({ kind, board }) => (kind === "esp32" ? (board ?? []) : []));
    return [...new Set(names)].sort();
  }, [data]);
}
