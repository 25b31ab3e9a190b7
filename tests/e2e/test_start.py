"""How a chat begins: with a question from the command line, with a conversation named by number or title."""
import unittest

import scripted_model
from program import CHINWAG, ProgramCase
from terminal import Terminal


class Start(ProgramCase):
    def setUp(self):
        super().setUp()
        self.model = str(self.home / "s.gguf")
        scripted_model.write(self.model, ["Hi", " there."])

    def converse(self, question):
        """A conversation that holds this question and its answer."""
        before = len(self.messages()) if self.db.exists() else 0
        t = self.open("-m", self.model)
        t.wait("> ")
        self.ask(t, question)
        self.wait_answers(before + 1)
        self.leave(t)

    def messages(self):
        return self.rows("SELECT c.title, m.text FROM message m JOIN conversation c ON c.id = m.conversation_id "
                         "WHERE role = 1 ORDER BY m.id")

    def wait_answers(self, n):
        self.wait_rows("SELECT count(*) FROM message WHERE role = 2 AND state = 0", [(n,)])

    def test_with_a_question(self):
        t = self.open("-m", self.model, "/help is a text here: why?")
        t.wait("Hi there.")
        self.wait_answers(1)
        self.assertEqual([text for _, text in self.messages()], ["/help is a text here: why?"])
        self.ask(t, "And?")
        self.wait_answers(2)
        self.assertEqual(len(self.rows("SELECT id FROM conversation")), 1)
        self.leave(t)

    def test_with_a_question_in_plain_mode(self):
        t = self.open("-m", self.model, "Who is there?", CHINWAG_PLAIN="1")
        t.wait("Hi there.")
        self.wait_answers(1)
        self.assertIn("Who is there?", t.text())

    def test_with_a_question_for_a_conversation(self):
        self.converse("The garden")
        self.converse("The kitchen")
        t = self.open("-m", self.model, "--resume=garden", "Which seeds?")
        self.wait_answers(3)
        t.wait("Which seeds?")
        self.assertIn("The garden", t.text())
        self.assertEqual(self.messages()[-1], ("The garden", "Which seeds?"))
        self.leave(t)

    def test_with_a_conversation_by_its_number(self):
        self.converse("The garden")
        self.converse("The kitchen")
        id_, = self.rows("SELECT id FROM conversation WHERE title = 'The garden'")[0]
        t = self.open("-m", self.model, "--resume", str(id_)[-4:])
        t.wait("The garden")
        self.ask(t, "Which seeds?")
        self.wait_answers(3)
        self.assertEqual(self.messages()[-1], ("The garden", "Which seeds?"))
        self.leave(t)

    def test_with_a_title_that_several_have(self):
        self.converse("A plan for the garden")
        self.converse("A plan for the kitchen")
        for text, words in (("plan", ("2 conversations", "garden", "kitchen")), ("attic", ("no conversation 'attic'",))):
            t = Terminal([CHINWAG, "-m", self.model, "--resume", text], 100, 30, self.env)
            self.terminals.append(t)
            self.assertEqual(t.end(), 1)
            for word in words:
                self.assertIn(word, t.raw.decode())
        self.assertEqual(len(self.messages()), 2)


if __name__ == "__main__":
    unittest.main()
