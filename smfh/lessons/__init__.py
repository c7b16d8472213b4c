"""The small example, step by step and entry by entry; the lessons; the symbols. Values, no Streamlit."""
