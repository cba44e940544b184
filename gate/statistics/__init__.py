"""What a difference is worth. Pure; randomness only from a seed that is passed in. numpy is imported where it is used."""
